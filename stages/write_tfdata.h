// The stage that publishes directories for tf.data.Dataset.load. What lies on disk: formats/tfdata.md.
#pragma once

#include <string>
#include <string_view>

#include "spec/registry.h"

namespace pipeline {

StageType WriteTfdataType();

/// The directory of a shard: numbered in train, one by name in every other split.
std::string TfdataDirectoryOf(const Json& config, std::string_view split, std::uint32_t number,
                              std::uint32_t count);

}  // namespace pipeline
