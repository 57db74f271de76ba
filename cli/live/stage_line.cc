#include "cli/live/stage_line.h"

#include <algorithm>
#include <set>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kNames = 3;

/// Returns "1-4, 6" for 0, 1, 2, 3, 5.
std::string Ranges(const std::set<std::size_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::size_t first = *at;
    std::size_t last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    text += StrCat(text.empty() ? "" : ", ", first + 1);
    if (last > first) text += StrCat("-", last + 1);
  }
  return text;
}

}  // namespace

StageLine::StageLine(const std::vector<StageSpec>& file, const Graph& graph, const Plan& plan) {
  std::set<std::string_view> running;
  const auto name_of = [&graph](NodeId node) -> const std::string& { return graph[node].spec->name; };
  const auto nodes_of = [](const PlannedSegment& segment) {
    std::vector<NodeId> nodes = segment.chain;
    if (segment.files) nodes.push_back(*segment.files);
    if (nodes.empty()) nodes.push_back(segment.node);
    return nodes;
  };
  for (const PlannedSegment& segment : plan.segments)
    if (segment.state == PlannedSegment::State::kWanted)
      for (const NodeId node : nodes_of(segment)) running.insert(name_of(node));
  for (const StageSpec& stage : file)
    if (running.contains(stage.name)) names_.push_back(stage.name);
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kWanted) continue;
    Segment& made = segments_.emplace_back();
    made.last = name_of(segment.node);
    for (const NodeId node : nodes_of(segment)) {
      const auto found = std::find(names_.begin(), names_.end(), name_of(node));
      if (found != names_.end()) made.stages.push_back(static_cast<std::size_t>(found - names_.begin()));
    }
  }
}

void StageLine::Began(std::string_view stage) {
  for (Segment& segment : segments_)
    if (segment.last == stage) segment.began = true, segment.done = false;
}

void StageLine::Done(std::string_view stage) {
  for (Segment& segment : segments_)
    if (segment.last == stage) segment.began = segment.done = true;
}

std::string StageLine::Text() const {
  std::set<std::size_t> now, done;
  for (const Segment& segment : segments_)
    if (segment.began && !segment.done) now.insert(segment.stages.begin(), segment.stages.end());
  for (const Segment& segment : segments_)
    if (segment.done) done.insert(segment.stages.begin(), segment.stages.end());
  if (names_.empty()) return {};
  // A stage of several segments still works for the segment that is not done.
  if (now.empty())
    return done.empty() ? std::string() : StrCat(done.size(), " of ", names_.size(), " stages done");
  std::string names;
  std::size_t shown = 0;
  for (const std::size_t at : now) {
    if (++shown > kNames) break;
    names += StrCat(names.empty() ? "" : ", ", names_[at]);
  }
  if (now.size() > kNames) names += ", …";
  return StrCat(now.size() == 1 ? "stage " : "stages ", Ranges(now), " of ", names_.size(), ": ", names);
}

}  // namespace pipeline
