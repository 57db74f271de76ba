// What --from, --only, --until and `retry` choose of a plan.
#pragma once

#include <string>
#include <vector>

#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

/// Why the selection means nothing in this graph; empty where it does.
std::vector<std::string> CheckSelection(const Graph& graph, const Selection& selection);

/// True for a stage in which `retry` finds a failed unit.
bool HasFailed(const Selection& selection, const std::string& stage);

/// True when the units of `segment` run `stage`, or read the files that it gives.
bool RunsStage(const Graph& graph, const PlannedSegment& segment, const std::string& stage);

/// True where a run of `selection` may act on what `node` leaves.
bool MayRun(const Graph& graph, const Selection& selection, int node);

/// Leaves only what is chosen wanted, and refuses what would need more. Segments stand behind what they
/// need.
void ApplySelection(const Graph& graph, const Selection& selection, Plan& plan);

/// Leaves out, after that, segments at whose place a damaged manifest stands, those that need them, and those
/// that nothing else needs.
void LeaveOutDamaged(const Graph& graph, Plan& plan);

}  // namespace pipeline
