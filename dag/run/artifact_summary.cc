#include "dag/run/artifact_summary.h"

#include <array>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/first_of.h"
#include "base/str.h"
#include "dag/pipeline_file/file_keys.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/partition_counts.h"
#include "dag/run/fault_share.h"

namespace pipeline {

namespace {

double ShareOf(double part, std::uint64_t whole) {
  return whole == 0 ? 0 : part / static_cast<double>(whole);
}

/// Returns the share of the reason `name`. `documents`: the number of documents that the stage found; used if
/// the reason counts documents.
double ReasonOf(const StageType& type, const std::string& name, const StageCounts& counts,
                std::uint64_t documents) {
  const Reason* const reason = FindReason(type.reasons, name);
  const auto counted = counts.reasons.find(name);
  if (reason == nullptr || counted == counts.reasons.end()) return 0;
  if (reason->of == Reason::Of::kDocuments) return ShareOf(static_cast<double>(counted->second), documents);
  return ShareOf(RecordsCounted(type.reasons, counts, *reason), RecordsTaken(type.reasons, counts));
}

double MetricOf(const StageType& type, const std::string& metric, const StageCounts& counts) {
  for (const Metric& own : type.metrics)
    if (own.name == metric) return own.value(counts);
  if (metric == "records") return static_cast<double>(counts.records_out);
  if (metric == "bytes") return static_cast<double>(counts.bytes_out);
  if (metric == kDroppedMetric.name)
    return ShareOf(RecordsDropped(type.reasons, counts), RecordsTaken(type.reasons, counts));
  // The metric is kept_ratio; without records it is 1.
  if (counts.records_in == 0) return 1;
  return static_cast<double>(counts.records_out) / static_cast<double>(counts.records_in);
}

std::string Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

/// Runs the source's own check, and checks its bounds over all inputs together: many small inputs may each
/// have a few faulty records, which break no bound of one input.
Status CheckSource(const SourceStage& source, const StageType& type, const ArtifactTotals& totals) {
  RETURN_IF_ERROR(source.CheckCounts(totals));
  for (const FaultBound& bound : source.bounds())
    if (const FaultShare share(bound, type.reasons, totals.counts); share.IsBroken())
      return Status(Code::kDataLoss,
                    StrCat("in all inputs together ", share.Broken(), "; mend them", share.OrRaise()));
  return {};
}

}  // namespace

ArtifactSummary Summarize(const RunLog& log, const PlannedSegment& planned,
                          const std::vector<PartitionOutput>& outputs) {
  ArtifactSummary summary;
  PartitionCounts counts(log);
  const auto note = [&summary](std::vector<std::string> lost) {
    std::move(lost.begin(), lost.end(), std::back_inserter(summary.lost));
  };
  // Adds the counts of the stages before each barrier stage. Their partition outputs may be gone; their lines
  // are not. The counts of the barrier stage itself are those of the records that it gives. A mix takes
  // nothing in and has no line here.
  for (const OutputKeys& barriers : planned.keys.barriers) {
    PartitionCounts::ByStage before;
    note(counts.AddAll(barriers, &before, &summary.documents));
    if (!barriers.line.empty()) before.erase(barriers.line.back().stage);
    for (const auto& [stage, of_stage] : before) summary.counts[stage] += of_stage;
  }
  for (const PartitionOutput& output : outputs) {
    if (std::string unit = counts.Add(planned.keys, output.id, summary.counts); !unit.empty())
      note({std::move(unit)});
    for (const auto& [split, part] : output.splits) {
      ArtifactTotals::Split& total = summary.splits[split];
      total.records += part.records;
      total.documents += part.documents;
      total.bytes += part.bytes;
    }
  }
  note(counts.AddEnds(planned.keys, &summary.counts, &summary.documents));
  return summary;
}

Status CheckWhole(const ArtifactSummary& summary) {
  if (summary.lost.empty()) return {};
  return Status(Code::kDataLoss,
                StrCat("the run log has lost the lines of ", FirstOf(summary.lost),
                       ", so that the counts are incomplete; run again: the outputs that these lines "
                       "describe are made again"));
}

Status CheckExpectations(const Graph& graph, const std::vector<NodeId>& chain, const Assembly& assembly,
                         const ArtifactSummary& summary) {
  std::string failures;
  const auto fail = [&failures](std::string_view what) {
    failures += StrCat(failures.empty() ? "" : "; ", what);
  };
  std::size_t transform = 0;
  for (const NodeId position : chain) {
    const StageSpec& spec = *graph[position].spec;
    ArtifactTotals totals;
    totals.splits = summary.splits;
    if (const auto counts = summary.counts.find(spec.name); counts != summary.counts.end())
      totals.counts = counts->second;
    if (spec.type->source() != nullptr && assembly.source)
      if (const Status bounds = CheckSource(*assembly.source, *spec.type, totals); !bounds.ok())
        fail(StrCat("stage '", spec.name, "': ", bounds.message()));
    // A segment that does not run may have no stages, because the artifacts that they read may be gone.
    if (spec.type->transform() != nullptr && transform < assembly.transforms.size()) {
      const Status bounds = assembly.transforms[transform++]->CheckCounts(totals);
      if (!bounds.ok()) fail(StrCat("stage '", spec.name, "': ", bounds.message()));
    }
    // If an earlier stage gave too little, the Sink has too little as a consequence.
    if (spec.type->sink() != nullptr && assembly.sink && failures.empty())
      if (const Status bounds = assembly.sink->CheckCounts(totals); !bounds.ok())
        fail(StrCat("stage '", spec.name, "': ", bounds.message()));
    for (const Expectation& expected : spec.expect) {
      const auto documents = summary.documents.find(spec.name);
      const double value = expected.is_reason
                               ? ReasonOf(*spec.type, expected.metric, totals.counts,
                                          documents == summary.documents.end() ? 0 : documents->second)
                               : MetricOf(*spec.type, expected.metric, totals.counts);
      if (value >= expected.low && value <= expected.high) continue;
      fail(StrCat("stage '", spec.name, "': ", expected.is_reason ? "the share of " : "", expected.metric,
                  " is ", Number(value), ", and its `expect` asks for ", Number(expected.low), " to ",
                  Number(expected.high)));
    }
  }
  if (failures.empty()) return {};
  return Status(Code::kFailedPrecondition, failures);
}

}  // namespace pipeline
