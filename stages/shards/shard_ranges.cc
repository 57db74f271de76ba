#include "stages/shards/shard_ranges.h"

#include <algorithm>

#include "base/log.h"
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
  std::uint64_t count =
      rules.shards ? *rules.shards
      : rules.shard_bytes
          ? std::clamp<std::uint64_t>((bytes + *rules.shard_bytes / 2) / *rules.shard_bytes, 1, records)
          : std::max(rules.auto_shards(bytes, records), 1u);
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

Shard ShardOf(const ShardRules& rules, const std::string& split, std::uint32_t number, std::uint32_t count,
              const Digest& outputs) {
  Hasher hasher;
  hasher.UpdateField(split).UpdateU64(number).UpdateU64(count);
  hasher.UpdateU64(outputs.high).UpdateU64(outputs.low);
  return {split,           number,
          count,           rules.object_name(split, number, count),
          hasher.Finish(), rules.index_name(split, number, count)};
}

Status RangePublication::AddShards(std::size_t number, std::uint64_t records, std::uint64_t bytes,
                                   const Digest& outputs) {
  const std::string& split = rules_.splits[number];
  const auto written = static_cast<std::uint64_t>(static_cast<double>(bytes) * rules_.growth);
  ASSIGN_OR_RETURN(const ShardRanges ranges, RangesOf(rules_, split, records, written));
  if (ranges.left_out > 0)
    LogInfo(StrCat("split '", split, "': left out ", ranges.left_out, " of ", ranges.kept + ranges.left_out,
                   " rows, so that its ", ranges.count, " shards are equal"));
  left_out_.push_back(ranges.left_out);
  for (std::uint32_t shard = 0; shard < ranges.count; ++shard) {
    shards_.push_back(ShardOf(rules_, split, shard, ranges.count, outputs));
    places_.push_back({number, ranges.of(shard)});
  }
  return {};
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
  if (rules.shard_bytes && *rules.shard_bytes == 0) return wrong("`shard_bytes`: must be at least 1");
  if (rules.shards && rules.shard_bytes)
    return wrong("`shards`: decides the number of shards, and so does `shard_bytes`; leave out one of them");
  if (rules.shuffle_seed || rules.cuts_corpus()) return {};
  if (rules.hosts > 1)
    return wrong(
        "`hosts`: cannot be more than 1 with `shuffle: none` alone, where the corpus decides the number of "
        "shards; give `shards` or `shard_bytes`, leave out `hosts`, or shuffle");
  if (rules.equal)
    return wrong(
        "`equal`: cannot be given with `shuffle: none` alone, where the corpus decides how long shards are; "
        "give `shards` or `shard_bytes`, leave out `equal`, or shuffle");
  return {};
}

}  // namespace pipeline
