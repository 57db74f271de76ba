// Explains why no record, or too few, reached the end of a chain: the number of records that each stage took
// in, and the reasons for which it dropped them.
#pragma once

#include <string>

#include "dag/pipeline_file/graph.h"
#include "dag/run/artifact_summary.h"
#include "dag/run/segment_unit.h"

namespace pipeline {

/// Returns "stage 'lines' took in 12 and gave 0 (dropped_no_field 12; the first, dropped_no_field: {…)" and
/// so on, from the first stage of the lineage of `scope` on. Empty: a record is left, or no stage says
/// more.
std::string NothingLeft(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary);

/// Returns, in the same form, the stages that gave less than nine tenths of what they took in. Empty: there
/// is none.
std::string WhatWasLost(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary);

/// Adds WhatWasLost to `refusal`, with which a Job's stage refused (StageRefused) to go on.
Status WithLosses(Status refusal, const Graph& graph, const SegmentScope& scope,
                  const ArtifactSummary& summary);

}  // namespace pipeline
