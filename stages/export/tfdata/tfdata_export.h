// Directories for tf.data.Dataset.load as an export format: the stage, the check and the row. On-disk format:
// stages/export/tfdata/tfdata.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "stages/verify/export_format.h"

namespace pipeline {

StageType WriteTfdataType();

/// The directory of a shard: numbered in train; the other splits have one directory each, named after the
/// split.
std::string TfdataShardDirectory(const Json& config, std::string_view split, std::uint32_t number,
                                 std::uint32_t count);

ExportFormat TfdataExport();

}  // namespace pipeline
