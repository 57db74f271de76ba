// A run that is planned in the opened work directory, and its forecast.
#pragma once

#include <memory>
#include <variant>

#include "base/status.h"
#include "cli/commands/run_request.h"
#include "cli/terminal/signals.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/workspace.h"
#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"
#include "dag/progress.h"

namespace pipeline {

struct PlannedRun {
  std::unique_ptr<Workspace> workspace;
  Snapshot snapshot;
  Plan plan;  // without refusals
};

/// Opens the work directory and plans. The exit status instead: the command ends, and its messages are
/// printed. `progress` outlives the result.
std::variant<PlannedRun, int> PlanRun(const RunRequest& request, LoadedPipeline& loaded, Progress& progress,
                                      const SignalWatch& signals);

/// Prints the plan if it was asked for, and warns of disks that may run full. kInvalidArgument: the run takes
/// more disk than limits.disk; kResourceExhausted: more than is free.
Status PrintForecast(const RunRequest& request, const LoadedPipeline& loaded, const PlannedRun& run,
                     const RunOptions& options);

/// Checks before a run that this machine has all that the stages need; prepares every stage that runs. The
/// error is that of the first stage that lacks something.
Status PrepareStages(const RunRequest& request, const Graph& graph, const Plan& plan);

}  // namespace pipeline
