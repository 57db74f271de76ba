// The stage that publishes JSON Lines. On-disk format: stages/export/jsonl/jsonl.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/registry.h"

namespace pipeline {

StageType WriteJsonlType();

/// The members of a row, in order. `schema`: of the input records.
std::vector<std::string> JsonlMembers(const Json& config, const Schema& schema);

/// The file name of a split, without the shard number and ".json".
std::string JsonlFileOf(const Json& config, std::string_view split);

/// True if rows are pairs for span corruption.
bool CorruptsSpans(const Json& config);

}  // namespace pipeline
