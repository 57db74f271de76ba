#include "dag/plan/selection.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/str.h"
#include "dag/pipeline_file/mistake.h"

namespace pipeline {

std::vector<std::string> CheckSelection(const Graph& graph, const Selection& selection) {
  std::vector<std::string> refusals;
  std::vector<std::string_view> names;
  for (const Node& node : graph.nodes()) names.push_back(node.spec->name);
  for (const std::string* stage : {&selection.from, &selection.only, &selection.until, &selection.force}) {
    if (stage->empty() || graph.Find(*stage)) continue;
    refusals.push_back(StrCat("no stage is called '", *stage, "'", NamesLike(*stage, names)));
  }
  return refusals;
}

bool HasFailed(const Selection& selection, const std::string& stage) {
  return std::find(selection.failed.begin(), selection.failed.end(), stage) != selection.failed.end();
}

bool IsForced(const Graph& graph, const Selection& selection, NodeId node) {
  const std::optional<NodeId> forced = graph.Find(selection.force);
  return forced && graph.MadeFrom(node, *forced);
}

bool MayRun(const Graph& graph, const Selection& selection, NodeId node) {
  for (const std::string* stage : {&selection.from, &selection.only}) {
    if (stage->empty()) continue;
    const std::optional<NodeId> from = graph.Find(*stage);
    if (!from || !graph.MadeFrom(node, *from)) return false;
  }
  const auto needed_for = [&](const std::string& stage) {
    const std::optional<NodeId> end = graph.Find(stage);
    return end && (graph.MadeFrom(node, *end) || graph.MadeFrom(*end, node));
  };
  if (!selection.until.empty() && !needed_for(selection.until)) return false;
  return selection.failed.empty() ||
         std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& other) {
           return HasFailed(selection, other.spec->name) && needed_for(other.spec->name);
         });
}

}  // namespace pipeline
