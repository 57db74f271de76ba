// Turns the payloads of partitions into shards: the common part of all Sink stages that publish. A shard is
// the concatenation of its payload rows, in order; it may have an index beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dag/records/partition_output.h"
#include "dag/records/publication.h"
#include "dag/records/sink.h"

namespace pipeline {

/// Takes the next bytes of an object; its failure ends the writing.
using PutBytes = std::function<Status(std::string_view bytes)>;

/// Makes the bytes of a shard from its rows, or those of an index from its entries, if they are more than
/// those one behind the other. One thread at a time.
class ShardForm {
 public:
  virtual ~ShardForm() = default;
  /// Appends the next bytes to `out`.
  virtual void Append(std::string_view row, std::string& out) = 0;
  /// The last call. A shard without rows has only these bytes.
  virtual Status Finish(const PutBytes&) { return {}; }
};
using NewShardForm = std::function<std::unique_ptr<ShardForm>()>;

/// An object beside each shard with one entry per row: the offset of the row in the shard (u64), then
/// `numbers` u32, all little endian. The payload of a row begins with these numbers; they are no part of
/// the shard. Without `object_name` the index exists beside partition outputs only, to count rows and to
/// sum the numbers.
struct ShardIndex {
  std::size_t numbers = 0;
  std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)> object_name;
  /// The published form; null: the entries one behind the other.
  NewShardForm form = {};
};

struct ShardRules {
  std::vector<std::string> splits;  // by the number in column `split`
  /// Absent (`shuffle: none`): corpus order. If cuts_corpus() is false, each partition's part of a split is a
  /// shard.
  std::optional<std::uint64_t> shuffle_seed;
  bool compress_spills = false;
  std::uint64_t spill_bytes = 0;             // payload bytes that close a spill file; 0: 96 MiB
  std::optional<std::uint32_t> shards;       // of every split; absent: `auto`
  std::optional<std::uint64_t> shard_bytes;  // about so many of each shard, in place of `shards`
  std::uint32_t hosts = 1;                   // train gets a multiple of this number of shards
  bool equal = false;                        // leave out the last N mod S rows of train
  std::uint64_t eval_batch = 0;              // least number of rows of each split other than train
  /// The choice of `auto` for a split of this size in payload bytes and records, before `hosts` rounds it
  /// up.
  std::function<std::uint32_t(std::uint64_t bytes, std::uint64_t records)> auto_shards;
  std::function<std::string(std::string_view split, std::uint32_t number, std::uint32_t count)> object_name;
  bool others_whole = false;  // a split other than train is one shard, whatever `shards` says
  std::optional<ShardIndex> index = {};
  /// Null: concatenated rows. The offsets in an index count the rows before conversion.
  NewShardForm form = {};
  double growth = 1;  // approximate shard bytes per payload byte
  /// Publication::Describe of the stage. `outputs` is parallel to `shards`; `left_out` to `splits`: the
  /// number of rows that `equal` left out of all shards.
  std::function<Result<Sidecars>(const std::vector<Shard>& shards, const std::vector<ShardOutput>& outputs,
                                 const std::vector<std::uint64_t>& left_out)>
      describe;

  /// Returns whether shards are ranges of the rows in corpus order.
  bool cuts_corpus() const { return !shuffle_seed && (shards || shard_bytes); }
  std::size_t index_numbers() const { return index ? index->numbers : 0; }
  /// Empty: no index is published.
  std::string index_name(std::string_view split, std::uint32_t number, std::uint32_t count) const {
    return index && index->object_name ? index->object_name(split, number, count) : std::string();
  }
};

/// Implements the parts of SinkStage that are independent of the meaning of a payload. Chooses between
/// shards/shuffle (global shuffle by spills), shards/corpus_order (shuffle: none) and shards/corpus_ranges
/// (the same with a number or a size of shards).
class ShardedStage : public SinkStage {
 public:
  explicit ShardedStage(ShardRules rules) : rules_(std::move(rules)) {}
  Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const override;
  std::uint64_t partition_memory(std::uint64_t text_bytes) const override;
  /// kFailedPrecondition: splits have no records; the message names them.
  Status CheckCounts(const ArtifactTotals& totals) const override;
  Result<std::unique_ptr<Publication>> Plan(Store& artifact,
                                            const std::vector<PartitionOutput>& outputs) const override;

 private:
  const ShardRules rules_;
};

}  // namespace pipeline
