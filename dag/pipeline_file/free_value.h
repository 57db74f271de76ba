// A value of the pipeline file in any shape: a map that a plugin or a trainer reads and checks.
#pragma once

#include "base/json.h"
#include "dag/pipeline_file/yaml.h"

namespace pipeline {

/// Reads a value by YAML's core schema: plain `true`, `1` and `1e3` get their types, quoted text is a text.
/// A whole number that does not fit 64 bits is a text, too.
Json FreeValue(const YamlNode& node);

}  // namespace pipeline
