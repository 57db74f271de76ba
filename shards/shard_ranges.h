// How many shards a split has, and which rows of its order each one takes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "shards/sharded_output.h"

namespace pipeline {

/// The split that a trainer's hosts share; the others are read whole.
inline constexpr std::string_view kTrainSplit = "train";

struct ShardRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Shard s takes the rows [s * kept / count, (s + 1) * kept / count): counts differ by at most one.
struct ShardRanges {
  std::uint32_t count = 1;
  std::uint64_t kept = 0;      // rows that belong to a shard
  std::uint64_t left_out = 0;  // rows at the end that do not, for the sake of equal shards
  ShardRange of(std::uint32_t shard) const;
};

/// What `rules` make of a split of so many rows and payload bytes; without rows it is one empty
/// shard. kFailedPrecondition where `equal` would leave out every row, and as CheckEvalBatch.
Result<ShardRanges> RangesOf(const ShardRules& rules, std::string_view split, std::uint64_t records,
                             std::uint64_t bytes);

/// kFailedPrecondition where a split but train has fewer rows than `eval_batch`.
Status CheckEvalBatch(const ShardRules& rules, std::string_view split, std::uint64_t records);

/// What a stage's `check` must refuse: rules that contradict each other.
Status CheckShardRules(const ShardRules& rules);

}  // namespace pipeline
