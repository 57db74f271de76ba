#include "dag/run/nothing_left.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/str.h"
#include "dag/books/quarantine.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/run/fault_share.h"
#include "dag/run/job_unit.h"

namespace pipeline {

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

/// Returns "; stage 'NAME' took in N and gave M (REASONS)" for each stage before the end of the chain that
/// `tells` chooses.
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
  return text;
}

}  // namespace

std::string NothingLeft(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary) {
  if (AnyLeft(summary)) return {};
  const std::string text =
      Losses(graph, scope, summary, [](const StageCounts& counts, const std::string& reasons) {
        return counts.records_out < counts.records_in || !reasons.empty();
      });
  return text.empty() ? text : text.substr(2);
}

Status WithLosses(Status refusal, const Graph& graph, const SegmentScope& scope,
                  const ArtifactSummary& summary) {
  const std::string why = WhatWasLost(graph, scope, summary);
  if (why.empty()) return refusal;
  return Status(refusal.code(), StrCat(refusal.message(), "; before it: ", why))
      .With(std::make_shared<StageRefused>());
}

std::string WhatWasLost(const Graph& graph, const SegmentScope& scope, const ArtifactSummary& summary) {
  const std::string text = Losses(graph, scope, summary, [](const StageCounts& counts, const std::string&) {
    return counts.records_out < counts.records_in - counts.records_in / 10;
  });
  return text.empty() ? text : text.substr(2);
}

}  // namespace pipeline
