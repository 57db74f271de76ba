#include "stages/shards/shard_ranges.h"

#include <algorithm>

#include "base/str.h"

namespace pipeline {

ShardRange ShardRanges::of(std::uint32_t shard) const {
  // shard * kept / count without the product, which may exceed 2^64.
  const auto position = [this](std::uint64_t s) { return s * (kept / count) + s * (kept % count) / count; };
  return {position(shard), position(std::uint64_t{shard} + 1)};
}

Result<ShardRanges> RangesOf(const ShardRules& rules, std::string_view split, std::uint64_t records,
                             std::uint64_t bytes) {
  ShardRanges ranges;
  RETURN_IF_ERROR(CheckEvalBatch(rules, split, records));
  if (records == 0) return ranges;
  const bool train = split == kTrainSplit;
  std::uint64_t count = rules.shards ? *rules.shards : std::max(rules.auto_shards(bytes, records), 1u);
  if (rules.others_whole && !train) count = 1;
  if (train) count = (count + rules.hosts - 1) / rules.hosts * rules.hosts;
  if (count > UINT32_MAX)
    return Status(Code::kInvalidArgument, StrCat("split '", split, "': ", count, " shards are too many"));
  ranges.count = static_cast<std::uint32_t>(count);
  if (train && rules.equal) ranges.left_out = records % count;
  ranges.kept = records - ranges.left_out;
  if (ranges.kept == 0)
    return Status(Code::kFailedPrecondition,
                  StrCat("split '", split, "': `equal` leaves out all of its ", records, " rows: there are ",
                         count, " shards; give fewer `shards` or `hosts`"));
  return ranges;
}

Status CheckEvalBatch(const ShardRules& rules, std::string_view split, std::uint64_t records) {
  if (split == kTrainSplit || records >= rules.eval_batch) return {};
  return Status(
      Code::kFailedPrecondition,
      StrCat("split '", split, "': has ", records, " records, and `eval_batch` asks for ", rules.eval_batch,
             ": no batch of it would be full; make the split larger, or lower it"));
}

Status CheckShardRules(const ShardRules& rules) {
  const auto wrong = [](std::string_view what) { return Status(Code::kInvalidArgument, std::string(what)); };
  if (rules.hosts == 0) return wrong("`hosts`: must be at least 1");
  if (rules.shards && *rules.shards == 0) return wrong("`shards`: must be at least 1");
  if (rules.shuffle_seed) return {};
  if (rules.shards)
    return wrong(
        "`shards`: cannot be given with `shuffle: none`, where each partition's part of a split is a "
        "shard; leave out `shards`, or shuffle");
  if (rules.hosts > 1)
    return wrong(
        "`hosts`: cannot be more than 1 with `shuffle: none`, where the corpus decides the number of "
        "shards; leave out `hosts`, or shuffle");
  if (rules.equal)
    return wrong(
        "`equal`: cannot be given with `shuffle: none`, where the corpus decides how long shards are; "
        "leave out `equal`, or shuffle");
  return {};
}

}  // namespace pipeline
