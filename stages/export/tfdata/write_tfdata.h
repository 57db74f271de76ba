// The stage that publishes directories for tf.data.Dataset.load. On-disk format:
// stages/export/tfdata/tfdata.md.
#pragma once

#include <string>
#include <string_view>

#include "dag/pipeline_file/registry.h"

namespace pipeline {

StageType WriteTfdataType();

/// The directory of a shard: numbered in train; the other splits have one directory each, named after the
/// split.
std::string TfdataDirectoryOf(const Json& config, std::string_view split, std::uint32_t number,
                              std::uint32_t count);

}  // namespace pipeline
