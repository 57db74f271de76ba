// Draws a graph as text for Graphviz and for Mermaid: stages with their types, edges with their flow.
#pragma once

#include <string>
#include <string_view>

#include "dag/pipeline_file/graph.h"

namespace pipeline {

/// Graphviz DOT. `name` is the title. Stages that publish are drawn as cylinders. Values of the
/// configuration are left out: they may be secret.
std::string ToDot(const Graph& graph, std::string_view name);

/// Draws the same as a Mermaid flowchart.
std::string ToMermaid(const Graph& graph, std::string_view name);

}  // namespace pipeline
