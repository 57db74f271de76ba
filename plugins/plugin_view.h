// The facts that a plugin may see about its stage in a pipeline file: plugins/ABI.md, sections 11 and 12.
#pragma once

#include "base/json.h"
#include "dag/pipeline_file/graph.h"

namespace pipeline {

/// {"stage", "type", "config", "makers"} of the stage at `node`; "makers": the stages at its named inputs.
Json StageForPlugin(const Graph& graph, NodeId node);

}  // namespace pipeline
