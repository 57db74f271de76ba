#include "dag/run/artifact_summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/enumeration.h"
#include "base/str.h"
#include "dag/books/quarantine.h"
#include "dag/pipeline_file/file_keys.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/partition_counts.h"
#include "dag/run/fault_share.h"
#include "dag/run/job_unit.h"

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

namespace {

bool AnyLeft(const ArtifactSummary& summary) {
  return std::any_of(summary.splits.begin(), summary.splits.end(),
                     [](const auto& split) { return split.second.records > 0; });
}

/// Returns the records that a stage did not pass on, by reason.
std::string ReasonsOf(const StageType& type, const StageCounts& counts) {
  std::string text;
  for (const auto& [name, count] : counts.reasons)
    if (const Reason* reason = FindReason(type.reasons, name);
        count > 0 && reason != nullptr && reason->fate != Reason::Fate::kStays)
      text += StrCat(text.empty() ? "" : ", ", name, " ", count);
  return text;
}

/// Returns "; the first, REASON: BYTES; how to mend them" about the quarantine of the first partition of the
/// stage. Empty: there is none.
std::string FirstQuarantined(const SegmentScope& scope, std::string_view stage) {
  const auto chained = std::find_if(scope.chain.begin(), scope.chain.end(),
                                    [&](const QuarantineStage& one) { return one.stage == stage; });
  if (chained == scope.chain.end()) return {};
  std::vector<FaultBound> bounds;
  if (scope.assembly.source && chained == scope.chain.begin()) bounds = scope.assembly.source->bounds();
  std::optional<Quarantined> first;
  std::string sample;
  (void)ReadQuarantine(*scope.work, QuarantineName(*chained, {}), [&](const Quarantined& record) -> Status {
    if (!first) first = record;
    sample.append(record.bytes.substr(0, kFaultSampleBytes - sample.size())).append(1, '\n');
    return sample.size() < kFaultSampleBytes ? Status() : Status(Code::kCancelled, "enough");
  });
  if (!first) return {};
  std::string text = StrCat("; the first, ", first->reason, ": ", Shown(*first, kShownFaultBytes));
  for (const FaultBound& bound : bounds)
    if (bound.advice &&
        std::find(bound.reasons.begin(), bound.reasons.end(), first->reason) != bound.reasons.end())
      text += StrCat("; ", bound.advice(first->reason, sample));
  return text;
}

/// Returns "stage 'NAME' took in N and gave M (REASONS); stage …" for each stage before the end of the chain
/// that `tells` chooses.
template <class Tells>
std::string Losses(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary,
                   const Tells& tells) {
  std::string text;
  for (const NodeId at : graph.Lineage(scope.planned->chain.back())) {
    const StageSpec& spec = *graph[at].spec;
    const auto found = summary.counts.find(spec.name);
    if (found == summary.counts.end()) continue;
    const StageCounts& counts = found->second;
    const std::string reasons = ReasonsOf(*spec.type, counts);
    if (counts.records_in == 0 && reasons.empty()) {
      if (spec.type->source() != nullptr && counts.records_out == 0)
        text += StrCat("; stage '", spec.name, "' found no record in its input");
      continue;
    }
    if (!tells(counts, reasons)) continue;
    text += StrCat("; stage '", spec.name, "' took in ", counts.records_in, " and gave ", counts.records_out,
                   reasons.empty() ? "" : StrCat(" (", reasons, FirstQuarantined(scope, spec.name), ")"));
  }
  return text.empty() ? text : text.substr(2);
}

}  // namespace

std::string NothingLeft(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary) {
  if (AnyLeft(summary)) return {};
  return Losses(graph, scope, summary, [](const StageCounts& counts, const std::string& reasons) {
    return counts.records_out < counts.records_in || !reasons.empty();
  });
}

Status WithLosses(Status refusal, const Graph& graph, const SegmentScope& scope,
                  const ArtifactSummary& summary) {
  const std::string why = WhatWasLost(graph, scope, summary);
  if (why.empty()) return refusal;
  return Status(refusal.code(), StrCat(refusal.message(), "; before it: ", why))
      .With(std::make_shared<StageRefused>());
}

std::string WhatWasLost(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary) {
  return Losses(graph, scope, summary, [](const StageCounts& counts, const std::string&) {
    return counts.records_out < counts.records_in - counts.records_in / 10;
  });
}

}  // namespace pipeline
