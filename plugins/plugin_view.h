// The facts that a plugin may see about its stage in a pipeline file: plugins/ABI.md, sections 11 and 12.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "dag/pipeline_file/graph.h"

namespace pipeline {

/// The facts about the stage that makes a named input: {"type", "config", "facts", "splits"}.
Json MakerForPlugin(std::string_view type, const Json& config, const Json& facts,
                    const std::vector<std::string>& splits);

/// {"stage", "type", "config", "makers"} of the stage at `node`; "makers": the stages at its named inputs.
Json StageForPlugin(const Graph& graph, NodeId node);

}  // namespace pipeline
