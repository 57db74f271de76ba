#include "base/commit_point.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace pipeline {
namespace {

TEST(CommitPointTest, WithoutAHookNothingHappens) {
  SetCommitPointHook({});
  PassCommitPoint("object.synced");
}

TEST(CommitPointTest, TheHookSeesEachPointUntilItIsReplaced) {
  std::vector<std::string> seen;
  SetCommitPointHook([&](std::string_view point) { seen.emplace_back(point); });
  PassCommitPoint("object.synced");
  PassCommitPoint("shard.logged");
  const CommitPointHook ours = SetCommitPointHook({});
  PassCommitPoint("object.visible");
  EXPECT_EQ(seen, (std::vector<std::string>{"object.synced", "shard.logged"}));
  EXPECT_TRUE(ours) << "SetCommitPointHook returns what was there";
}

TEST(CommitPointTest, NamesAreDistinct) {
  const std::set<std::string_view> names(std::begin(kCommitPoints), std::end(kCommitPoints));
  EXPECT_EQ(names.size(), std::size(kCommitPoints));
}

}  // namespace
}  // namespace pipeline
