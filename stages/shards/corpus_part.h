// The part of a partition in one split, where the order of the corpus is kept: IIII-PPPPP.SPLIT.shard, the
// payloads back to back, and IIII-PPPPP.SPLIT.index, if there is an index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dag/records/partition_output.h"
#include "stages/shards/sharded_stage.h"

namespace pipeline {

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

}  // namespace pipeline
