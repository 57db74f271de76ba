// JSON Lines as an export format: the stage, the check and the row. On-disk format:
// stages/export/jsonl/jsonl.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stages/verify/export_format.h"

namespace pipeline {

StageType WriteJsonlType();

/// The members of a row, in order. `schema`: of the input records.
std::vector<std::string> JsonlMembers(const Json& config, const Schema& schema);

/// The file name of a split, without the shard number and ".json".
std::string JsonlFileOf(const Json& config, std::string_view split);

/// The name of a shard.
std::string JsonlObjectName(const Json& config, std::string_view split, std::uint32_t number,
                            std::uint32_t count);

/// True if rows are pairs for span corruption.
bool CorruptsSpans(const Json& config);

ExportFormat JsonlExport();

}  // namespace pipeline
