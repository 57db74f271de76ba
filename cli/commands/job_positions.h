// Asks the Jobs of a run for the number of this machine among those that run them together.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/selection.h"
#include "dag/records/job_position.h"

namespace pipeline {

using JobPositions = std::map<std::string, JobPosition, std::less<>>;  // by stage

/// Asks each Job that `selection` may run. The stages may read the environment and ask the metadata server.
Result<JobPositions> FindPositions(const Graph& graph, const Selection& selection);

/// True if this machine follows another one in a Job, so it runs nothing else.
bool Follows(const JobPositions& positions);

}  // namespace pipeline
