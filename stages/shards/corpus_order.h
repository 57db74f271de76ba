// Shards for `shuffle: none`: a partition's part of a split is a shard, and its bytes are written once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dag/records/partition_output.h"
#include "dag/records/publication.h"
#include "dag/records/sink.h"
#include "stages/shards/sharded_stage.h"

namespace pipeline {

/// The part of a partition in one split: IIII-PPPPP.SPLIT.shard, the payloads back to back, and
/// IIII-PPPPP.SPLIT.index, if there is an index.
struct CorpusPart {
  StoredObject object;
  std::optional<StoredObject> index;  // absent: there are no indexes
  std::uint64_t records = 0;
};

std::string CorpusPartName(PartitionId id, std::string_view split);
std::string CorpusPartIndexName(PartitionId id, std::string_view split);

/// Returns the part of `split` in `output`; absent: it has none. `rules` made the output.
Result<std::optional<CorpusPart>> CorpusPartOf(const ShardRules& rules, const PartitionOutput& output,
                                               const std::string& split);

/// Writes the payloads of each split that occurs to an object IIII-PPPPP.SPLIT.shard and, if `rules` have
/// an index, the index to IIII-PPPPP.SPLIT.index.
std::unique_ptr<Sink> NewCorpusOrderSink(Store& artifact, PartitionId id, const ShardRules& rules);

/// Publishes those objects, numbered by partition, as copies that may share storage with them. A split
/// without any is one empty shard. `artifact` must outlive the result.
Result<std::unique_ptr<Publication>> PlanCorpusOrder(const ShardRules& rules, Store& artifact,
                                                     std::vector<PartitionOutput> outputs);

}  // namespace pipeline
