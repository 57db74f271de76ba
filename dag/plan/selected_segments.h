// Applies a selection to the segments of a plan.
#pragma once

#include <string>

#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/selection.h"

namespace pipeline {

/// Returns whether the units of `segment` run `stage`, or read the files that it gives.
bool RunsStage(const Graph& graph, const PlannedSegment& segment, const std::string& stage);

/// Keeps only the chosen segments wanted, and refuses those that need more. Each segment comes after its
/// needs.
void ApplySelection(const Graph& graph, const Selection& selection, Plan& plan);

/// Called after ApplySelection. Leaves out segments with a damaged manifest at their location, segments
/// that need them, and segments that nothing else needs.
void LeaveOutDamaged(const Graph& graph, Plan& plan);

}  // namespace pipeline
