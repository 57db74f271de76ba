#include "dag/artifact_summary.h"

#include <array>
#include <cstdio>

#include "base/str.h"
#include "dag/keys.h"
#include "dag/unit_id.h"

namespace pipeline {

namespace {

double MetricOf(const std::string& metric, const StageCounts& counts) {
  if (metric == "records") return static_cast<double>(counts.records_out);
  if (metric == "bytes") return static_cast<double>(counts.bytes_out);
  // kept_ratio; of nothing, all is kept
  if (counts.records_in == 0) return 1;
  return static_cast<double>(counts.records_out) / static_cast<double>(counts.records_in);
}

std::string Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

using Counts = std::map<std::string, StageCounts, std::less<>>;

/// Of every stage that partition `id` went through. Where partition files lie between, each stage is
/// counted by the segment that ran it: who only reads its records sees none that it dropped.
Counts CountsOf(const RunLog& log, const PlannedSegment& planned, PartitionId id) {
  Counts all;
  if (const UnitLine* line = log.FindDone(ToString(UnitId{planned.keys.stage, id})))
    for (const auto& [stage, counts] : line->counts) all.insert_or_assign(stage, counts);
  for (auto above = planned.lineage.rbegin() + 1; above != planned.lineage.rend(); ++above) {
    const UnitLine* line = log.FindDone(ToString(UnitId{above->stage, id}));
    if (line == nullptr || line->recipe != PartitionRecipe(above->recipe, id)) continue;
    for (const auto& [stage, counts] : line->counts) all.insert_or_assign(stage, counts);
  }
  return all;
}

}  // namespace

ArtifactSummary Summarize(const RunLog& log, const PlannedSegment& planned,
                          const std::vector<Piece>& pieces) {
  ArtifactSummary summary;
  for (const Piece& piece : pieces) {
    for (const auto& [stage, counts] : CountsOf(log, planned, piece.id)) summary.counts[stage] += counts;
    for (const auto& [split, part] : piece.splits) {
      ArtifactTotals::Split& total = summary.splits[split];
      total.records += part.records;
      total.documents += part.documents;
      total.bytes += part.bytes;
    }
  }
  for (std::uint32_t input = 0; input < planned.keys.end_recipes.size(); ++input)
    if (const UnitLine* line = FindEnd(log, planned.keys, input))
      for (const auto& [stage, counts] : line->counts) summary.counts[stage] += counts;
  return summary;
}

Status Judge(const Graph& graph, const std::vector<int>& chain, const Assembly& assembly,
             const ArtifactSummary& summary) {
  std::string failures;
  const auto fail = [&failures](std::string_view what) {
    failures += StrCat(failures.empty() ? "" : "; ", what);
  };
  std::size_t transform = 0;
  for (const int position : chain) {
    const StageSpec& spec = *graph.nodes()[static_cast<std::size_t>(position)].spec;
    ArtifactTotals totals;
    totals.splits = summary.splits;
    if (const auto counts = summary.counts.find(spec.name); counts != summary.counts.end())
      totals.counts = counts->second;
    if (spec.type->is_transform()) {
      const Status verdict = assembly.transforms[transform++]->Judge(totals);
      if (!verdict.ok()) fail(StrCat("stage '", spec.name, "': ", verdict.message()));
    }
    for (const Expectation& expected : spec.expect) {
      const double value = MetricOf(expected.metric, totals.counts);
      if (value >= expected.low && value <= expected.high) continue;
      fail(StrCat("stage '", spec.name, "': ", expected.metric, " is ", Number(value), ", expected ",
                  Number(expected.low), " to ", Number(expected.high)));
    }
  }
  if (failures.empty()) return {};
  return Status(Code::kFailedPrecondition, failures);
}

}  // namespace pipeline
