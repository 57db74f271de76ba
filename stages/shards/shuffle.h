// Second pass of a global shuffle: spills become shards. The first pass is shards/spill_sink.
#pragma once

#include <memory>
#include <vector>

#include "dag/records/partition_output.h"
#include "dag/records/publication.h"
#include "stages/shards/shard_ranges.h"
#include "stages/shards/spill_merger.h"

namespace pipeline {

/// The order of a split is (hash, origin) over the rows of all spills; its shards are ranges of
/// positions in that order. No byte depends on anything else: not on the memory, not on the groups.
///
/// A group belongs to a bucket, a range of bins of about a quarter of the memory: it has every shard
/// whose first row is in the bucket. Its last shard may continue into the next buckets. So a row is
/// read about once, and about twice at most, for any number of shards.
class ShufflePublication final : public RangePublication {
 public:
  /// Reads the index of every spill. An error in a spill names it (dag/records/partition_output.h). The
  /// result uses a copy of `rules` and `artifact` itself, which must outlive it.
  static Result<std::unique_ptr<ShufflePublication>> Plan(const ShardRules& rules, Store& artifact,
                                                          std::vector<PartitionOutput> outputs);

  std::vector<std::vector<std::size_t>> Groups(std::uint64_t memory_bytes) const override;
  std::unique_ptr<GroupWriter> OpenGroup(GroupRequest request) const override;

  /// The cost of all groups so far, and of reading the spill indexes.
  const MergeCounters& counters() const { return counters_; }

 private:
  class BucketWriter;
  using RangePublication::RangePublication;
  Status AddSpill(const PartitionOutput& output, std::vector<std::vector<SpillBin>>& bins);
  Result<Digest> AddSpillFile(PartitionId id, const StoredObject& stored,
                              std::vector<std::vector<SpillBin>>& bins);

  std::vector<SpilledSplit> splits_;  // by number
  mutable MergeCounters counters_;    // atomics
};

}  // namespace pipeline
