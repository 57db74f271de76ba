// Computes the number of shards of a split, and the range of rows of each shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "stages/shards/sharded_stage.h"

namespace pipeline {

/// The split that a trainer's hosts divide among them; the others are read whole.
inline constexpr std::string_view kTrainSplit = "train";

struct ShardRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Shard s takes the rows [s * kept / count, (s + 1) * kept / count): counts differ by at most one.
struct ShardRanges {
  std::uint32_t count = 1;
  std::uint64_t kept = 0;      // rows that belong to a shard
  std::uint64_t left_out = 0;  // rows at the end in no shard, so that all shards are equal
  ShardRange of(std::uint32_t shard) const;
};

/// Applies `rules` to a split with this many rows and payload bytes; a split without rows is one empty
/// shard. kFailedPrecondition: `equal` would leave out every row; also the error of CheckEvalBatch.
Result<ShardRanges> RangesOf(const ShardRules& rules, std::string_view split, std::uint64_t records,
                             std::uint64_t bytes);

/// The shard `number` of `count` of a split, made of the rows of the partition outputs `outputs`.
Shard ShardOf(const ShardRules& rules, const std::string& split, std::uint32_t number, std::uint32_t count,
              const Digest& outputs);

/// Shards that are ranges of all rows of their split.
class RangePublication : public Publication {
 public:
  RangePublication(const ShardRules& rules, Store& artifact) : rules_(rules), artifact_(artifact) {}
  const std::vector<Shard>& shards() const final { return shards_; }
  double growth() const final { return rules_.growth; }
  Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const final {
    return rules_.describe(shards_, outputs, left_out_);
  }

 protected:
  struct Place {  // position of a shard
    std::size_t split = 0;
    ShardRange range;
  };

  /// Called for each split in their order, which has these rows of the partition outputs `outputs`, and so
  /// many payload bytes without the numbers of an index. Tells how many rows are left out.
  Status AddShards(std::size_t split, std::uint64_t records, std::uint64_t bytes, const Digest& outputs);

  const ShardRules rules_;
  Store& artifact_;
  std::vector<Shard> shards_;
  std::vector<Place> places_;  // parallel

 private:
  std::vector<std::uint64_t> left_out_;  // rows in no shard, by split
};

/// kFailedPrecondition: a split other than train has fewer rows than `eval_batch`.
Status CheckEvalBatch(const ShardRules& rules, std::string_view split, std::uint64_t records);

/// For a stage's `check`: refuses rules that contradict each other.
Status CheckShardRules(const ShardRules& rules);

}  // namespace pipeline
