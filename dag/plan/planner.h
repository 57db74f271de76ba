// Plans a run. Planning reads the snapshot, and looks for stored outputs through StoredOutputs alone.
#pragma once

#include "base/result.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/selection.h"
#include "dag/plan/snapshot.h"
#include "dag/plan/stored_outputs.h"

namespace pipeline {

/// `graph` outlives the plan.
Result<Plan> MakePlan(const Graph& graph, const Snapshot& snapshot, const StoredOutputs& stored,
                      const Selection& selection);

}  // namespace pipeline
