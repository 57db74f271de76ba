#include "stages/shards/shard_name.h"

#include <gtest/gtest.h>

#include "stages/export/jsonl/jsonl.h"
#include "stages/export/packed/packed.h"

namespace pipeline {
namespace {

TEST(ShardNameTest, IsOneOfTheSplitsWithANumberBelowItsCount) {
  const auto is = [](std::string_view object) {
    return IsShardName(object, {"train", "my-of-1-split"},
                       [](std::string_view split, std::uint32_t number, std::uint32_t count) {
                         return PackedShardName(split, number, count, PackedEncoding::kExample);
                       });
  };
  EXPECT_TRUE(is("train-00000-of-00001.tfrecord"));
  EXPECT_TRUE(is("train-00007-of-00008.tfrecord"));
  EXPECT_TRUE(is("train-99999-of-100000.tfrecord"));
  EXPECT_TRUE(is("my-of-1-split-00007-of-00008.tfrecord"));
  for (const char* other :
       {"train-00008-of-00008.tfrecord", "train-7-of-8.tfrecord", "train-00007-of-00008.tfrecord.gz",
        "train-00007-of-00008.idx", "test-00007-of-00008.tfrecord", "below/train-00007-of-00008.tfrecord",
        "train.tfrecord", "train-00007-of-.tfrecord", "-of-", "",
        "train-00007-of-99999999999999999999.tfrecord"})
    EXPECT_FALSE(is(other)) << other;
}

TEST(ShardNameTest, OneOfOneMayHaveNoNumbers) {
  const auto is = [](std::string_view object) { return IsShardName(object, {"train"}, JsonlShardName); };
  EXPECT_TRUE(is("train.json"));
  EXPECT_TRUE(is("train-00001-of-00002.json"));
  EXPECT_FALSE(is("train-00000-of-00001.json"));
  EXPECT_FALSE(is("trainer.json"));
}

TEST(ShardNameTest, LikeLiesInNoDirectoryAndHasMoreBetween) {
  EXPECT_TRUE(IsLike("train-x.json", "train-", ".json"));
  EXPECT_FALSE(IsLike("train-.json", "train-", ".json"));
  EXPECT_FALSE(IsLike("train-a/x.json", "train-", ".json"));
  EXPECT_FALSE(IsLike("a.json", "a.j", "json")) << "beginning and end share nothing";
}

}  // namespace
}  // namespace pipeline
