#include "cli/commands/job_positions.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

Result<JobPositions> FindPositions(const Graph& graph, const Selection& selection) {
  JobPositions positions;
  for (const NodeId node : graph.nodes().ids()) {
    const StageSpec& spec = *graph[node].spec;
    const JobKind* const job = spec.type->job();
    if (job == nullptr || !job->find_position || !MayRun(graph, selection, node)) continue;
    Result<JobPosition> position = job->find_position(spec.config);
    if (!position.ok()) return std::move(position).status().Annotate(StrCat("stage '", spec.name, "'"));
    positions.emplace(spec.name, std::move(*position));
  }
  return positions;
}

bool Follows(const JobPositions& positions) {
  return std::any_of(positions.begin(), positions.end(),
                     [](const auto& position) { return position.second.follows(); });
}

}  // namespace pipeline
