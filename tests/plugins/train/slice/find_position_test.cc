#include "plugins/train/slice/find_position.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

TEST(FindPositionTest, ThePositionComesBackAsItWasAnswered) {
  HostPosition position;
  position.host = 1;
  position.hosts = 3;
  position.address_of_leader = "10.0.0.1";
  position.addresses = {"10.0.0.1", "10.0.0.2", "fd00::3"};
  position.source = "TPU_WORKER_HOSTNAMES";
  const HostPosition back = PositionFromJson(PositionToJson(position));
  EXPECT_EQ(back.host, 1);
  EXPECT_EQ(back.hosts, 3);
  EXPECT_EQ(back.address_of_leader, "10.0.0.1");
  EXPECT_EQ(back.addresses, position.addresses);
  EXPECT_EQ(back.source, "TPU_WORKER_HOSTNAMES");
}

TEST(FindPositionTest, ARequestWithoutAPositionIsASingleHost) {
  const HostPosition position = PositionFromJson(Json());
  EXPECT_EQ(position.host, 0);
  EXPECT_EQ(position.hosts, 1);
  EXPECT_TRUE(position.addresses.empty());
}

}  // namespace
}  // namespace pipeline
