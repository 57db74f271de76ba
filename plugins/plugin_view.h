// What a plugin may know of a stage in a pipeline file: plugins/ABI.md, sections 11 and 12.
#pragma once

#include "base/json.h"
#include "spec/graph.h"

namespace pipeline {

/// {"stage", "type", "config", "makers"} of the stage at `node`: by port what makes an input.
Json StageForPlugin(const Graph& graph, int node);

}  // namespace pipeline
