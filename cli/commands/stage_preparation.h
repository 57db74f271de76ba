// Checks before a run that this machine has all that the stages need.
#pragma once

#include "base/status.h"
#include "cli/commands/run_request.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"

namespace pipeline {

/// Prepares every stage that runs. The error is that of the first stage that lacks something.
Status PrepareStages(const RunRequest& request, const Graph& graph, const Plan& plan);

}  // namespace pipeline
