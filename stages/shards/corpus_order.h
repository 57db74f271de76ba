// Shards for `shuffle: none`: a partition's part of a split is a shard, and its bytes are written once.
#pragma once

#include <memory>
#include <vector>

#include "dag/records/partition_output.h"
#include "dag/records/publication.h"
#include "dag/records/sink.h"
#include "stages/shards/sharded_stage.h"

namespace pipeline {

/// Writes the payloads of each split that occurs to an object IIII-PPPPP.SPLIT.shard and, if `rules` have
/// an index, the index to IIII-PPPPP.SPLIT.index.
std::unique_ptr<Sink> NewCorpusOrderSink(Store& artifact, PartitionId id, const ShardRules& rules);

/// Publishes those objects, numbered by partition, as copies that may share storage with them. A split
/// without any is one empty shard. `artifact` must outlive the result.
Result<std::unique_ptr<Publication>> PlanCorpusOrder(const ShardRules& rules, Store& artifact,
                                                     std::vector<PartitionOutput> outputs);

}  // namespace pipeline
