// Turning the payloads of partitions into shards: what every Sink stage that publishes has in common.
// A shard is the concatenation of the payload rows that belong to it, in order; beside it may lie an index.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "records/piece.h"
#include "records/publication.h"
#include "records/sink.h"

namespace pipeline {

/// An object beside each shard with an entry for each of its rows: where the row begins in the shard (u64),
/// then `numbers` u32, all little endian. The payload of a row begins with these numbers; they are no part of
/// the shard. Without `object_name` it is kept beside pieces alone, to count rows and to sum the numbers.
struct ShardIndex {
  std::size_t numbers = 0;
  std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)> object_name;
  /// What is published instead of these entries, made of all of them; null: the entries. A shard's are held
  /// in memory then.
  std::function<std::string(std::string_view entries)> encode = {};
};

/// Makes the bytes of a shard from its rows, where they are more than the rows one behind the other. Each
/// call appends to `out` what comes next. One thread at a time.
class ShardForm {
 public:
  virtual ~ShardForm() = default;
  virtual void Append(std::string_view row, std::string& out) = 0;
  /// No call may follow; a shard without rows has this alone.
  virtual void Finish(std::string& out) = 0;
};

struct ShardRules {
  std::vector<std::string> splits;  // by the number in column `split`
  /// Absent (`shuffle: none`): corpus order, and each partition's part of a split is a shard.
  std::optional<std::uint64_t> shuffle_seed;
  bool compress_spills = false;
  std::uint64_t spill_bytes = 0;        // a spill file holds no more payloads than that; 0: a whole partition
  std::optional<std::uint32_t> shards;  // of every split; absent means `auto`
  std::uint32_t hosts = 1;              // train gets a multiple of it
  bool equal = false;                   // leave out the last N mod S rows of train
  std::uint64_t eval_batch = 0;         // rows that each split but train must have
  /// `auto` for a split of so many payload bytes and records, before `hosts` rounds it up.
  std::function<std::uint32_t(std::uint64_t bytes, std::uint64_t records)> auto_shards;
  std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)> object_name;
  bool others_whole = false;  // a split other than train is one shard, whatever `shards` says
  std::optional<ShardIndex> index = {};
  /// Null: rows one behind the other. The offsets of an index count the rows as they come.
  std::function<std::unique_ptr<ShardForm>()> form = {};
  double growth = 1;  // bytes of a shard for each of its rows
  /// Publication::Describe of the stage; `outputs` is parallel to `shards`, `left_out` to `splits`: the rows
  /// that `equal` kept out of all shards.
  std::function<Result<Sidecars>(const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs,
                                 const std::vector<std::uint64_t>& left_out)>
      describe;

  std::size_t index_numbers() const { return index ? index->numbers : 0; }
  /// Empty where none is published.
  std::string index_name(std::string_view split, std::uint32_t number, std::uint32_t count) const {
    return index && index->object_name ? index->object_name(split, number, count) : std::string();
  }
};

/// Implements the parts of SinkStage that have nothing to do with what a payload means. Chooses
/// between shards/shuffle (global shuffle by spills) and shards/corpus_order (shuffle: none).
class ShardedOutput {
 public:
  explicit ShardedOutput(ShardRules rules);
  ~ShardedOutput();
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const;
  std::uint64_t partition_memory(std::uint64_t text_bytes) const;
  /// For SinkStage::Judge: kFailedPrecondition naming the splits that have no records.
  Status Judge(const ArtifactTotals& totals) const;
  Result<std::unique_ptr<Publication>> Plan(Store& artifact, const std::vector<Piece>& pieces) const;

 private:
  ShardRules rules_;
};

/// A stage that leaves to ShardedOutput what it does not do itself.
class ShardedStage : public SinkStage {
 public:
  explicit ShardedStage(ShardRules rules) : output_(std::move(rules)) {}
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override {
    return output_.OpenPartition(artifact, id);
  }
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override {
    return output_.partition_memory(text_bytes);
  }
  Status Judge(const ArtifactTotals& totals) const override { return output_.Judge(totals); }
  Result<std::unique_ptr<Publication>> Plan(Store& artifact,
                                            const std::vector<Piece>& pieces) const override {
    return output_.Plan(artifact, pieces);
  }

 private:
  const ShardedOutput output_;
};

}  // namespace pipeline
