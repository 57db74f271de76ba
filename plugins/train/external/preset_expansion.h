// The keys that a stage stands for: a preset becomes the keys of `trainer: external`. presets.md.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pipeline {

/// The reply of pipe.expand/1 (plugins/ABI.md, section 15). `named_inputs`: those that the file gives.
/// kInvalidArgument begins with the name of the key or input.
Result<Json> ExpandKeys(const Json& settings, const std::vector<std::string>& named_inputs);

/// One line with the trainer and its words, for people.
std::string CommandLine(const Json& settings);

/// One line that says how to get the program of the preset; empty: `settings` have no preset.
std::string HowToClone(const Json& settings, const std::string& directory);

}  // namespace pipeline
