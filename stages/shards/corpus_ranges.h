// Shards for `shuffle: none` with a number or a size of shards: ranges of the rows of a split in the order of
// the corpus, whatever partitions they lie in.
#pragma once

#include <memory>
#include <vector>

#include "dag/records/partition_output.h"
#include "dag/records/publication.h"
#include "stages/shards/sharded_stage.h"

namespace pipeline {

/// Returns the rules of the partition outputs (stages/shards/corpus_order.h): rows as they are, with an index
/// that tells where each begins.
ShardRules RulesOfRows(ShardRules rules);

/// Publishes the rows of `outputs`, which RulesOfRows(rules) made. The ranges are those of RangesOf, so that
/// `hosts` and `equal` mean the same as in a shuffle. `artifact` must outlive the result.
Result<std::unique_ptr<Publication>> PlanCorpusRanges(const ShardRules& rules, Store& artifact,
                                                      std::vector<PartitionOutput> outputs);

}  // namespace pipeline
