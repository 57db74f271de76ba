// A value of the pipeline file whose shape is not ours to judge: a map that a plugin or a trainer reads.
#pragma once

#include "base/json.h"
#include "spec/yaml.h"

namespace pipeline {

/// As YAML's core schema reads it: plain `true`, `1` and `1e3` are what they look like, what stands in quotes
/// is a text. A whole number that does not fit 64 bits is a text, too.
Json FreeValue(const YamlNode& node);

}  // namespace pipeline
