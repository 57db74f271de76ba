// The presets: the command, the patterns and the pins of trainers that other people wrote.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"

namespace pipeline {

/// The preset as presets.cc has it; null: there is none of this name.
const Json& PresetNamed(std::string_view name);

/// In the order of the pages.
std::vector<std::string_view> PresetNames();

}  // namespace pipeline
