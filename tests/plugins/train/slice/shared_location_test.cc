#include "plugins/train/slice/shared_location.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

HostPosition PositionWith(std::vector<std::string> addresses) {
  HostPosition position;
  position.hosts = 2;
  position.addresses = std::move(addresses);
  return position;
}

TEST(SharedLocationTest, ADirectoryOfThisMachineAloneIsRefusedByName) {
  // The only file system that every machine has and no other machine sees.
  const Status status =
      CheckSharedLocation("/dev/shm/out/runs/train-0", PositionWith({"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("/dev/shm/out/runs/train-0"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("tmpfs"), std::string::npos) << status.message();
}

TEST(SharedLocationTest, ABucketIsShared) {
  EXPECT_TRUE(CheckSharedLocation("gs://bucket/runs", PositionWith({"10.0.0.1", "10.0.0.2"})).ok());
}

TEST(SharedLocationTest, HostsOfOneMachineShareItsDirectories) {
  EXPECT_TRUE(CheckSharedLocation("/dev/shm/out", PositionWith({"localhost", "localhost"})).ok());
  EXPECT_TRUE(CheckSharedLocation("/dev/shm/out", PositionWith({})).ok()) << "their addresses are unknown";
}

}  // namespace
}  // namespace pipeline
