#include "plugins/train/slice/own_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace pipeline {
namespace {

TEST(OwnAddressTest, IsAnAddress) {
  in_addr parsed = {};
  EXPECT_EQ(inet_pton(AF_INET, OwnAddress().c_str(), &parsed), 1) << OwnAddress();
}

TEST(OwnAddressTest, AFreePortIsAPort) {
  for (const bool loopback : {true, false}) {
    const Result<int> port = FreePort(loopback);
    ASSERT_TRUE(port.ok()) << port.status().message();
    EXPECT_GT(*port, 1023);
    EXPECT_LT(*port, 65536);
  }
}

TEST(OwnAddressTest, AnAddressWithColonsGetsBrackets) {
  EXPECT_EQ(WithPort("10.0.0.1", 80), "10.0.0.1:80");
  EXPECT_EQ(WithPort("host0", 80), "host0:80");
  EXPECT_EQ(WithPort("fd00::1", 80), "[fd00::1]:80");
}

}  // namespace
}  // namespace pipeline
