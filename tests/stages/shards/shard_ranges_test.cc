#include "stages/shards/shard_ranges.h"

#include "tests/stages/shards/shuffle_fixture.h"

namespace pipeline {
namespace {

TEST(ShardRangesTest, CountsDifferByAtMostOneAndLeaveNothingOut) {
  for (const std::uint64_t records : {1ull, 5ull, 1000ull, (1ull << 62) + 17})
    for (const std::uint32_t shards : {1u, 3u, 7u, 1000u}) {
      const Result<ShardRanges> ranges = RangesOf(ShuffleRules(shards), "train", records, 0);
      ASSERT_TRUE(ranges.ok());
      EXPECT_EQ(ranges->count, shards);
      std::uint64_t end = 0;
      for (std::uint32_t shard = 0; shard < shards; ++shard) {
        const ShardRange range = ranges->of(shard);
        EXPECT_EQ(range.begin, end);
        end = range.end;
        EXPECT_LE(range.end - range.begin - records / shards, 1u);
      }
      EXPECT_EQ(end, records);
    }
}

TEST(ShardRangesTest, AutoAsksTheStageAndHostsRoundTrainUp) {
  ShardRules rules = ShuffleRules(1);
  rules.shards.reset();
  rules.hosts = 4;
  EXPECT_EQ(RangesOf(rules, "train", 100, 5 << 10)->count, 8u);
  EXPECT_EQ(RangesOf(rules, "validation", 100, 5 << 10)->count, 5u);
  EXPECT_EQ(RangesOf(rules, "validation", 100, 10)->count, 1u);  // the stage says 0
  rules.shards = 12;
  EXPECT_EQ(RangesOf(rules, "train", 100, 5 << 10)->count, 12u);
}

TEST(ShardRangesTest, EqualLeavesOutTheRemainderOfTrainOnly) {
  ShardRules rules = ShuffleRules(4);
  rules.equal = true;
  const Result<ShardRanges> train = RangesOf(rules, "train", 11, 0);
  ASSERT_TRUE(train.ok());
  EXPECT_EQ(train->left_out, 3u);
  for (std::uint32_t shard = 0; shard < 4; ++shard) EXPECT_EQ(train->of(shard).end, 2u * (shard + 1));
  EXPECT_EQ(RangesOf(rules, "validation", 11, 0)->kept, 11u);
  const Status nothing = RangesOf(rules, "train", 3, 0).status();
  EXPECT_EQ(nothing.code(), Code::kFailedPrecondition);
}

TEST(ShardRangesTest, ASplitWithoutRowsIsOneEmptyShard) {
  ShardRules rules = ShuffleRules(8);
  rules.hosts = 4;
  rules.equal = true;
  const Result<ShardRanges> ranges = RangesOf(rules, "train", 0, 0);
  ASSERT_TRUE(ranges.ok());
  EXPECT_EQ(ranges->count, 1u);
  EXPECT_EQ(ranges->of(0).end, 0u);
}

TEST(ShardRangesTest, ASplitBelowOneBatchOfEvaluationIsRefused) {
  ShardRules rules = ShuffleRules(1);
  rules.eval_batch = 256;
  EXPECT_TRUE(RangesOf(rules, "validation", 256, 1000).ok());
  EXPECT_TRUE(RangesOf(rules, "train", 1, 1000).ok());
  EXPECT_EQ(
      RangesOf(rules, "validation", 255, 1000).status().message(),
      "split 'validation': has 255 records, and `eval_batch` asks for 256: no batch of it would be full; "
      "make the split larger, or lower it");
  EXPECT_FALSE(RangesOf(rules, "test", 0, 0).ok());
  EXPECT_EQ(CheckEvalBatch(rules, "validation", 3).code(), Code::kFailedPrecondition);
}

TEST(ShardRangesTest, RulesThatContradictEachOtherAreNamed) {
  ShardRules rules = ShuffleRules(8);
  rules.hosts = 4;
  rules.equal = true;
  EXPECT_TRUE(CheckShardRules(rules).ok());
  rules.hosts = 0;
  EXPECT_TRUE(CheckShardRules(rules).message().starts_with("`hosts`"));
  rules.hosts = 4;
  rules.shards = 0;
  EXPECT_TRUE(CheckShardRules(rules).message().starts_with("`shards`"));
  rules.shards = 8;
  rules.shard_bytes = 1 << 20;
  EXPECT_TRUE(CheckShardRules(rules).message().starts_with("`shards`")) << "both decide their number";
  rules.shard_bytes.reset();
  rules.shuffle_seed.reset();
  EXPECT_TRUE(CheckShardRules(rules).ok());
  rules.shards.reset();
  EXPECT_TRUE(CheckShardRules(rules).message().starts_with("`hosts`"));
  rules.hosts = 1;
  EXPECT_TRUE(CheckShardRules(rules).message().starts_with("`equal`"));
  rules.equal = false;
  EXPECT_TRUE(CheckShardRules(rules).ok());
}

}  // namespace
}  // namespace pipeline
