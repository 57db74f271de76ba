#include <gtest/gtest.h>

#include "stages/shards/shard_keys.h"

namespace pipeline {
namespace {

TEST(ShardCountTest, FollowsTfds) {
  constexpr std::uint64_t kMiB = 1 << 20;
  constexpr std::uint64_t kGiB = 1 << 30;
  constexpr std::uint64_t kMany = 1'000'000'000;
  struct Case {
    std::uint64_t bytes, records;
    std::uint32_t shards;
  };
  const Case cases[] = {
      {0, 0, 1},
      {100'000'000, kMany, 1},
      {128 * kMiB - 1, kMany, 1},
      {128 * kMiB, kMany, 2},
      {256 * kMiB, kMany, 4},
      {kGiB, kMany, 16},
      {10 * kGiB, kMany, 128},
      {64 * kGiB - 1, kMany, 512},
      {64 * kGiB, kMany, 1024},
      {64 * kGiB, 1023, 512},  // too few records for 1024
      {82'000'000'000, kMany, 1024},
      {1024 * kGiB, kMany, 1024},
      {1025 * kGiB, kMany, 2048},
      {2048 * kGiB, kMany, 2048},
      {2049 * kGiB, kMany, 3072},
  };
  for (const Case& c : cases) EXPECT_EQ(AutoShardCount(c.bytes, c.records), c.shards) << c.bytes;
}

}  // namespace
}  // namespace pipeline
