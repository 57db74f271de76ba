// The facts of a stage in a pipeline file that its plugin may know: plugins/ABI.md, sections 11 and 12.
#pragma once

#include "base/json.h"
#include "spec/graph.h"

namespace pipeline {

/// {"stage", "type", "config", "makers"} of the stage at `node`: the makers of its inputs, by port.
Json StageForPlugin(const Graph& graph, int node);

}  // namespace pipeline
