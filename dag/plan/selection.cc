#include "dag/plan/selection.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
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

namespace {

const std::string& NameOf(const Graph& graph, NodeId node) { return graph[node].spec->name; }

std::vector<SegmentId> LastFirst(const IdVector<SegmentId, PlannedSegment>& segments) {
  std::vector<SegmentId> ids = segments.ids();
  std::reverse(ids.begin(), ids.end());
  return ids;
}

}  // namespace

bool RunsStage(const Graph& graph, const PlannedSegment& segment, const std::string& stage) {
  return std::any_of(segment.chain.begin(), segment.chain.end(),
                     [&](NodeId at) { return NameOf(graph, at) == stage; }) ||
         (segment.files && NameOf(graph, *segment.files) == stage);
}

void ApplySelection(const Graph& graph, const Selection& selection, Plan& plan) {
  IdVector<SegmentId, PlannedSegment>& all = plan.segments;
  IdVector<SegmentId, bool> selected(all.size(), true);
  const auto contains = [&](SegmentId at, const std::string& stage) {
    return RunsStage(graph, all[at], stage) || NameOf(graph, all[at].node) == stage;
  };
  if (!selection.only.empty())
    for (const SegmentId at : all.ids()) selected[at] = contains(at, selection.only);
  const auto any_need = [&](SegmentId at, const auto& is) {
    const std::vector<SegmentId> needs = NeedsOf(all[at]);
    return std::any_of(needs.begin(), needs.end(), is);
  };
  if (!selection.from.empty())
    for (const SegmentId at : all.ids())
      selected[at] =
          contains(at, selection.from) || any_need(at, [&](SegmentId need) { return bool{selected[need]}; });
  // Keeps only the segments that `end` names, and those that they need.
  const auto with_needs = [&](const std::function<bool(SegmentId)>& end) {
    IdVector<SegmentId, bool> wanted(all.size(), false);
    for (const SegmentId at : LastFirst(all)) {
      wanted[at] = wanted[at] || end(at);
      if (!wanted[at]) continue;
      for (const SegmentId need : NeedsOf(all[at])) wanted[need] = true;
    }
    for (const SegmentId at : all.ids()) selected[at] = selected[at] && wanted[at];
  };
  if (!selection.until.empty()) with_needs([&](SegmentId at) { return contains(at, selection.until); });
  if (!selection.failed.empty())
    with_needs([&](SegmentId at) { return HasFailed(selection, all[at].keys.stage); });
  for (const SegmentId at : all.ids()) {
    if (all[at].state != PlannedSegment::State::kWanted) continue;
    if (!selected[at]) {
      all[at].state = PlannedSegment::State::kNotSelected;
      continue;
    }
    if (!all[at].copy_from.empty()) continue;
    std::set<SegmentId> told;  // several of its stages may need the same artifact
    for (const SegmentId need : NeedsOf(all[at])) {
      const PlannedSegment& needed = all[need];
      if (needed.state == PlannedSegment::State::kNotSelected && told.insert(need).second)
        plan.refusals.push_back(StrCat(
            "stage '", NameOf(graph, all[at].node), "' needs the ",
            needed.publishes ? "artifact" : "partitions", " of '", NameOf(graph, needed.node), "', which ",
            needed.publishes ? "is" : "are", " not there and not selected; use --until or run it first"));
    }
  }
}

void LeaveOutDamaged(const Graph& graph, Plan& plan) {
  using State = PlannedSegment::State;
  IdVector<SegmentId, PlannedSegment>& all = plan.segments;
  IdVector<SegmentId, bool> left(all.size(), false);
  IdVector<SegmentId, int> readers(all.size(), 0);  // wanted readers, before any was left out
  const auto leave = [&](SegmentId at, std::string_view why) {
    left[at] = true;
    all[at].state = State::kNotSelected;
    plan.left_out.push_back(StrCat("stage '", NameOf(graph, all[at].node), "' is left out: ", why));
  };
  for (const SegmentId at : all.ids()) {
    if (all[at].state != State::kWanted) continue;
    const std::vector<SegmentId> needs = NeedsOf(all[at]);
    for (const SegmentId need : needs) ++readers[need];
    const auto lacking =
        std::find_if(needs.begin(), needs.end(), [&](SegmentId need) { return bool{left[need]}; });
    if (!all[at].damaged.empty())
      leave(at, all[at].damaged);
    else if (lacking != needs.end())
      leave(at, StrCat("it needs '", NameOf(graph, all[*lacking].node), "'"));
  }
  if (plan.left_out.empty()) return;
  // A segment that no wanted segment reads any more is not made, unless it publishes for its own sake.
  IdVector<SegmentId, int> takers(all.size(), 0);
  for (const SegmentId at : LastFirst(all)) {
    const bool for_itself = all[at].publishes && !all[at].location.starts_with(kWorkLocation);
    if (all[at].state == State::kWanted && readers[at] > 0 && takers[at] == 0 && !for_itself)
      all[at].state = State::kNotSelected;
    if (all[at].state != State::kWanted) continue;
    for (const SegmentId need : NeedsOf(all[at])) ++takers[need];
  }
}

}  // namespace pipeline
