#include "dag/plan/inputs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/enumeration.h"
#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/partition_counts.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Calls SourceKind::check_inputs of the Source `stage`.
Status CheckInputNames(const StageSpec& stage, const std::vector<SourceFile>& files) {
  const SourceKind* const source = stage.type->source();
  if (source == nullptr || !source->check_inputs) return {};
  std::vector<std::string> names;
  for (const SourceFile& file : files) names.push_back(file.input.name);
  return source->check_inputs(stage.config, names);
}

}  // namespace

void CheckInputs(const Graph& graph, const Snapshot& snapshot, Plan& plan) {
  const auto spec = [&graph](NodeId node) -> const StageSpec& { return *graph[node].spec; };
  const auto refuse = [&](NodeId node, const Status& why, bool may_be_there = false) {
    (may_be_there ? plan.reports : plan.refusals)
        .push_back(StrCat("stage '", spec(node).name, "': ", why.message()));
  };
  std::vector<std::string> lost;
  for (const PlannedSegment& segment : plan.segments)
    if (segment.state == PlannedSegment::State::kWanted)
      lost.insert(lost.end(), segment.outputs.lost().begin(), segment.outputs.lost().end());
  const auto gone = [&lost](Status missing) {
    if (lost.empty()) return missing;
    std::string words =
        StrCat(missing.message(), "; the run log has lost the lines of ", FirstOf(lost),
               ", without which the published counts are incomplete: put the file back and run "
               "again; the outputs that these lines describe are made again");
    return std::move(missing).Reword(std::move(words));
  };
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kWanted) continue;
    if (const auto there = snapshot.published.find(spec(segment.node).name);
        segment.publishes && there != snapshot.published.end() && !there->second.in_the_way.empty())
      refuse(
          segment.node,
          Status(Code::kFailedPrecondition,
                 StrCat(segment.location, ": no run wrote ", FirstOf(there->second.in_the_way),
                        ", and readers of the artifact would take that for a part of it; move it elsewhere, "
                        "or name another `out`")));
    if (!segment.copy_from.empty()) continue;
    for (const NodeId at : segment.chain)
      if (const auto found = snapshot.side_files.find(spec(at).name); found != snapshot.side_files.end())
        for (const Snapshot::SideFile& file : found->second)
          if (!file.missing.ok()) refuse(at, file.missing);
    if (!segment.files || segment.outputs.complete()) continue;
    const auto files = snapshot.files.find(spec(*segment.files).name);
    if (files == snapshot.files.end()) continue;
    const Status& missing = files->second.missing;
    if (!missing.ok()) {
      refuse(*segment.files, gone(missing), snapshot.offline && missing.code() == Code::kUnavailable);
      continue;
    }
    std::map<std::string_view, std::size_t> often;  // by file, whatever its path is
    for (const SourceFile& file : files->second.files)
      if (!file.identity.empty() && ++often[file.identity] == 2)
        plan.reports.push_back(StrCat("stage '", spec(*segment.files).name, "': ", ShownUrl(file.input.path),
                                      ": is named more than once, and is read as often"));
    const NodeId reader = segment.chain.front();
    if (const Status why = CheckInputNames(spec(reader), files->second.files); !why.ok()) refuse(reader, why);
  }
}

Status CheckVanished(const Graph& graph, const Snapshot& snapshot, const StoredOutputs& stored,
                     const std::map<NodeId, VanishedSource>& vanished, Plan& plan) {
  if (!plan.refusals.empty() || vanished.empty()) return {};
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kWanted || !segment.publishes) continue;
    const std::set<NodeId> line = RecordLine(graph, segment.node);
    const auto gone = std::find_if(vanished.begin(), vanished.end(),
                                   [&](const auto& source) { return line.contains(source.first); });
    if (gone == vanished.end()) continue;
    const auto& name = graph[segment.node].spec->name;
    const auto known = snapshot.published.find(name);
    Snapshot::Published there;
    if (known != snapshot.published.end()) {
      there = known->second;
    } else {
      ASSIGN_OR_RETURN(there, stored.at_location(segment.location));
    }
    const bool is_ours = there.manifest ? there.manifest->recipe() == segment.recipe()
                                        : there.marker_recipe == segment.recipe().ToHex();
    if (is_ours) continue;
    plan.refusals.push_back(StrCat("stage '", name, "': ", gone->second.missing, "; an earlier run read ",
                                   gone->second.recorded, ". Add --from-log to publish ", segment.location,
                                   " from the outputs that are left of that run"));
  }
  return {};
}

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
