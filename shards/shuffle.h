// Pass 2 of a global shuffle: spills become shards. Pass 1 is shards/spill_sink.
#pragma once

#include <memory>
#include <vector>

#include "records/piece.h"
#include "records/publication.h"
#include "shards/gather.h"
#include "shards/shard_ranges.h"

namespace pipeline {

/// The order of a split is (hash, origin) over the rows of all spills; its shards are ranges of
/// positions in that order. Nothing else decides about a byte: not the memory, not the groups.
///
/// A group is a bucket, a range of bins of about a quarter of the memory: every shard whose first
/// row lies in it. The last one reads on into the next buckets, so a row is read about once, and
/// at most about twice, at any number of shards.
class ShufflePublication : public Publication {
 public:
  /// Reads the index of every spill. An error about one of them names it (records/piece.h). `rules` and
  /// `artifact` are used later; the store must outlive the publication.
  static Result<std::unique_ptr<ShufflePublication>> Plan(const ShardRules& rules, Store& artifact,
                                                          std::vector<Piece> pieces);

  const std::vector<Shard>& shards() const override { return shards_; }
  double growth() const override { return rules_.growth; }
  std::vector<std::vector<std::size_t>> Groups(std::uint64_t memory_bytes) const override;
  Status Run(const std::vector<std::size_t>& group, const std::function<bool(std::size_t shard)>& wanted,
             const std::function<Condition(const std::string& object)>& condition, Store& out,
             const std::function<Status(std::size_t shard, const ShardOutput&)>& committed,
             std::uint64_t memory_bytes, std::stop_token stop) const override;
  Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const override;

  /// What all calls of Run have cost so far; the reading of indexes, too.
  const GatherCounters& counters() const { return counters_; }

 private:
  struct Place {  // of a shard
    std::size_t split = 0;
    ShardRange range;
  };
  ShufflePublication(const ShardRules& rules, Store& artifact) : rules_(rules), artifact_(artifact) {}
  Status AddSpill(const Piece& piece, std::vector<std::vector<SpillBin>>& bins);
  Result<Digest> AddSpillFile(PartitionId id, const StoredObject& stored,
                              std::vector<std::vector<SpillBin>>& bins);
  Status AddShards(std::size_t split, std::uint64_t bytes, const Digest& pieces);

  const ShardRules rules_;
  Store& artifact_;
  std::vector<SpilledSplit> splits_;  // by number
  std::vector<Shard> shards_;
  std::vector<Place> places_;            // parallel
  std::vector<std::uint64_t> left_out_;  // rows in no shard, by split
  mutable GatherCounters counters_;      // atomics
};

}  // namespace pipeline
