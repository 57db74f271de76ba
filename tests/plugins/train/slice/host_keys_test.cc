#include <gtest/gtest.h>

#include "plugins/train/slice/find_position.h"

namespace pipeline {
namespace {

Json Keys(const std::string& hosts, const std::string& host, const std::string& coordinator) {
  Json settings;
  settings["hosts"] = hosts;
  settings["host"] = host;
  settings["coordinator"] = coordinator;
  return settings;
}

TEST(HostKeysTest, AutoIsAbsent) {
  const Result<HostKeys> keys = ReadHostKeys(Keys("auto", "auto", "auto"));
  ASSERT_TRUE(keys.ok());
  EXPECT_FALSE(keys->hosts || keys->host || keys->coordinator);
  EXPECT_FALSE(ReadHostKeys(Json())->hosts) << "the host gave no values";
}

TEST(HostKeysTest, NumbersAndAnAddressAreTaken) {
  const Result<HostKeys> keys = ReadHostKeys(Keys("4", "0", "10.0.0.1"));
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(keys->hosts, 4);
  EXPECT_EQ(keys->host, 0);
  EXPECT_EQ(keys->coordinator, "10.0.0.1");
}

TEST(HostKeysTest, AnotherTextIsRefusedByName) {
  for (const char* text : {"four", "-1", "4x", "", "99999999999999999999"}) {
    const Status status = ReadHostKeys(Keys(text, "auto", "auto")).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_EQ(status.message().substr(0, 6), "hosts:") << status.message();
  }
}

}  // namespace
}  // namespace pipeline
