#include "dag/plan/vanished_source.h"

#include <algorithm>

#include "base/clock.h"
#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/selection.h"

namespace pipeline {

bool MayBeGone(const Status& missing) {
  switch (missing.code()) {
    case Code::kNotFound:
    case Code::kUnavailable:
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:  // a server that answers with something else
      return true;
    default: return false;
  }
}

bool AreThoseWanted(const std::vector<Snapshot::Files::Wanted>& wanted, const RecordedFiles& recorded) {
  if (wanted.empty()) return false;
  // The possible numbers of recorded files that the wanted ones so far stand for.
  std::set<std::size_t> taken = {0};
  for (const Snapshot::Files::Wanted& file : wanted) {
    std::set<std::size_t> next;
    for (std::size_t at : taken) {
      if (!file.is_pattern) {
        if (at < recorded.size() && recorded[at].name == file.name) next.insert(at + 1);
        continue;
      }
      while (at < recorded.size() && MatchesPattern(file.name, recorded[at].name)) next.insert(++at);
    }
    taken = std::move(next);
  }
  return taken.contains(recorded.size());
}

std::string ChangedOf(const std::vector<Snapshot::Files::Wanted>& wanted, const RecordedFiles& recorded) {
  const bool in_order = wanted.size() == recorded.size();
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (!wanted[at].digest) continue;
    const LineageSource now = {wanted[at].name, wanted[at].digest->ToHex()};
    const bool is_same = in_order ? recorded[at].digest == now.digest
                                  : std::find(recorded.begin(), recorded.end(), now) != recorded.end();
    if (!is_same) return wanted[at].name;
  }
  return {};
}

std::string Describe(const RecordedFiles& recorded, std::int64_t when) {
  std::string text;
  constexpr std::size_t kShown = 2;
  for (std::size_t at = 0; at < recorded.size() && at < kShown; ++at)
    text += StrCat(at == 0 ? "" : "; ", recorded[at].name, ", digest ", recorded[at].digest);
  if (recorded.size() > kShown) text += StrCat("; and ", recorded.size() - kShown, " more");
  constexpr std::size_t kDay = 10;  // the date of 2026-01-31T12:34:56Z
  if (when > 0) text += StrCat(", read on ", Iso8601(when).substr(0, kDay));
  return text;
}

namespace {

void AddRecordLine(const Graph& graph, NodeId node, std::set<NodeId>& line) {
  if (!line.insert(node).second) return;
  const Node& at = graph[node];
  const auto makes_artifact = [&graph](NodeId maker) { return graph[maker].spec->type->publishes(); };
  if (at.input && !makes_artifact(*at.input)) AddRecordLine(graph, *at.input, line);
  for (const NamedInputEdge& edge : at.named_inputs)
    if (edge.node && edge.named_input->takes == Flow::kRecords) AddRecordLine(graph, *edge.node, line);
}

}  // namespace

std::set<NodeId> RecordLine(const Graph& graph, NodeId node) {
  std::set<NodeId> line;
  AddRecordLine(graph, node, line);
  return line;
}

std::set<NodeId> NeededNodes(const Graph& graph, const Selection& selection) {
  std::set<NodeId> needed;
  for (const NodeId node : graph.nodes().ids()) {
    const std::string& name = graph[node].spec->name;
    if (!MayRun(graph, selection, node) || (!selection.only.empty() && name != selection.only)) continue;
    AddRecordLine(graph, node, needed);
  }
  return needed;
}

}  // namespace pipeline
