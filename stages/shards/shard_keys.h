// The configuration keys of every stage that publishes shards, and the rules that they set.
#pragma once

#include <cstdint>
#include <vector>

#include "dag/pipeline_file/config.h"
#include "stages/shards/sharded_stage.h"

namespace pipeline {

/// The only one of these keys that affects the first pass as it is; see SinkKind::first_pass_keys.
inline constexpr std::string_view kShuffleKey = "shuffle";

/// For SinkKind::first_pass_of: with `shuffle: none` the first pass keeps rows in another form if shards are
/// ranges of them, whatever their number.
void AddCutsCorpus(const Json& config, Json& first_pass);

/// Appends `shuffle`, `shards`, `shard_bytes`, `hosts`, `equal`, `eval_batch`.
void AppendShardKeys(std::vector<ConfigKey>& keys);

/// Returns the rules for those keys of `config`; `auto` is the choice of TensorFlow Datasets. The caller
/// adds names and description.
ShardRules ShardRulesOf(const Json& config, std::vector<std::string> splits);

/// For a stage's `check`: refuses numbers out of range, and rules that contradict each other.
Status CheckShardKeys(const Json& config);

/// The choice of TensorFlow Datasets (`_get_number_shards`): between 64 MiB and 1 GiB each. `framed_bytes`:
/// of the split's records, frames included.
std::uint32_t AutoShardCount(std::uint64_t framed_bytes, std::uint64_t records);

}  // namespace pipeline
