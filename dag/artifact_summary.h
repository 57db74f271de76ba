// Sums over a whole artifact, from the log lines of its partitions, and the verdicts on them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/assembly.h"
#include "dag/plan.h"
#include "dag/run_log.h"
#include "spec/graph.h"

namespace pipeline {

struct ArtifactSummary {
  std::map<std::string, ArtifactTotals::Split, std::less<>> splits;
  std::map<std::string, StageCounts, std::less<>> counts;  // by stage, from the source on
  /// How many documents a stage found in its inputs; of Sources and Gather stages.
  std::map<std::string, std::uint64_t, std::less<>> documents;
  std::vector<std::string> lost;  // units whose lines the log lost; not empty: the counts are not whole
};

/// Adds up what the log says of `pieces` and of what lies outside any partition. The same whether
/// stages ran fused or with partition files between them.
ArtifactSummary Summarize(const RunLog& log, const PlannedSegment& planned, const std::vector<Piece>& pieces);

/// kDataLoss naming the lines that are lost: on such counts nothing is judged, and nothing is published.
Status CheckWhole(const ArtifactSummary& summary);

/// Every `expect` of the chain and every Transform's own verdict; all that fail, in one status.
Status Judge(const Graph& graph, const std::vector<int>& chain, const Assembly& assembly,
             const ArtifactSummary& summary);

}  // namespace pipeline
