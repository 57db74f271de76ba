// The part of a graph that a person wants to run: --from, --only, --until, --force and `retry`.
#pragma once

#include <string>
#include <vector>

#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"

namespace pipeline {

struct Selection {
  std::string from, only, until, force;  // names of stages; empty: not given
  bool from_log = false;  // allows new publications from the log's record of a source that is gone
  bool strict = false;    // another version of a library counts as a change
  /// Not empty (`pipe retry`): only segments that end in one of these stages, and their needs.
  std::vector<std::string> failed;
};

/// Returns the mistakes that make the selection invalid in this graph; empty: it is valid.
std::vector<std::string> CheckSelection(const Graph& graph, const Selection& selection);

/// Returns whether `retry` found a failed unit in `stage`.
bool HasFailed(const Selection& selection, const std::string& stage);

/// Returns whether --force names the stage of `node` or one that it is made from.
bool IsForced(const Graph& graph, const Selection& selection, NodeId node);

/// Returns whether a run of `selection` may act on the output of `node`.
bool MayRun(const Graph& graph, const Selection& selection, NodeId node);

/// Returns whether the units of `segment` run `stage`, or read the files that it gives.
bool RunsStage(const Graph& graph, const PlannedSegment& segment, const std::string& stage);

/// Keeps only the chosen segments wanted, and refuses those that need more. Each segment comes after its
/// needs.
void ApplySelection(const Graph& graph, const Selection& selection, Plan& plan);

/// Called after ApplySelection. Leaves out segments with a damaged manifest at their location, segments
/// that need them, and segments that nothing else needs.
void LeaveOutDamaged(const Graph& graph, Plan& plan);

}  // namespace pipeline
