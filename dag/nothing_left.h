// Why no record reached the end of a line: what each stage on it took in, and the reasons for which it let
// records go.
#pragma once

#include <string>

#include "dag/artifact_summary.h"
#include "dag/segment_unit.h"
#include "spec/graph.h"

namespace pipeline {

/// "stage 'lines' took in 12 and gave 0 (dropped_no_field 12; the first, dropped_no_field: {…)", and so on,
/// from the first stage of the line of `scope` on; empty where any record is left, or where no stage says
/// more.
std::string NothingLeft(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary);

}  // namespace pipeline
