// Adds up the counts of a whole artifact from the log lines of its partitions, and checks them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/books/run_log.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/run/assembly.h"
#include "dag/run/segment_unit.h"

namespace pipeline {

struct ArtifactSummary {
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
  std::map<std::string, StageCounts, std::less<>> counts;  // by stage, from the source on
  /// Number of documents that a Source or barrier stage found in its inputs, by stage.
  std::map<std::string, std::uint64_t, std::less<>> documents;
  std::vector<std::string> lost;  // units whose lines the log lost; not empty: the counts are incomplete
};

/// Adds up the log lines of `outputs`, and the counts outside of any partition. The sums are the same
/// whether stages ran fused or with partition files between them.
ArtifactSummary Summarize(const RunLog& log, const PlannedSegment& planned,
                          const std::vector<PartitionOutput>& outputs);

/// kDataLoss: lines are lost (the message names them). Incomplete counts must be neither checked nor
/// published.
Status CheckWhole(const ArtifactSummary& summary);

/// Checks every `expect` of the chain, and calls the stages' own checks; the Sink's only if nothing failed
/// before. One status has all failures.
Status CheckExpectations(const Graph& graph, const std::vector<NodeId>& chain, const Assembly& assembly,
                         const ArtifactSummary& summary);

/// Explains why no record reached the end of a chain: returns "stage 'lines' took in 12 and gave 0
/// (dropped_no_field 12; the first, dropped_no_field: {…)" and so on, from the first stage of the lineage of
/// `scope` on. Empty: a record is left, or no stage says more.
std::string NothingLeft(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary);

/// Returns, in the same form, the stages that gave less than nine tenths of what they took in. Empty: there
/// is none.
std::string WhatWasLost(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary);

/// Adds WhatWasLost to `refusal`, with which a Job's stage refused (StageRefused) to go on.
Status WithLosses(Status refusal, const Graph& graph, const SegmentScope& scope,
                  const ArtifactSummary& summary);

}  // namespace pipeline
