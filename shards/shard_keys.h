// The keys that every stage which publishes shards has, and what they say.
#pragma once

#include <vector>

#include "shards/sharded_output.h"
#include "spec/config.h"

namespace pipeline {

/// Keys of the first pass among them; see StageType::piece_keys.
inline constexpr std::string_view kShuffleKey = "shuffle";

/// `shuffle`, `shards`, `hosts`, `equal`, `eval_batch`.
void AppendShardKeys(std::vector<ConfigKey>& keys);

/// Rules for those keys of `config`, with `auto` as TensorFlow Datasets chooses; names and description are
/// the caller's.
ShardRules ShardRulesOf(const Json& config, std::vector<std::string> splits);

/// What a stage's `check` must refuse: numbers out of range, rules that contradict each other.
Status CheckShardKeys(const Json& config);

}  // namespace pipeline
