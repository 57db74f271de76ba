#include "dag/artifact_summary.h"

#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <variant>

#include "base/str.h"
#include "dag/keys.h"
#include "dag/unit_id.h"

namespace pipeline {

namespace {

double MetricOf(const StageType& type, const std::string& metric, const StageCounts& counts) {
  for (const Metric& own : type.metrics)
    if (own.name == metric) return own.value(counts);
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

/// Of every stage that partition `id` of `unit_stage` went through. Where partition files lie between, each
/// stage is counted by the segment that ran it: who only reads its records sees none that it dropped.
/// `lineage`: from the source, or the Gather stage, whose partitions these are.
Counts CountsOf(const RunLog& log, const std::string& unit_stage, std::span<const LineageStage> lineage,
                PartitionId id) {
  Counts all;
  if (const UnitLine* line = log.FindDone(ToString(UnitId{unit_stage, id})))
    for (const auto& [stage, counts] : line->counts) all.insert_or_assign(stage, counts);
  for (auto above = lineage.rbegin() + 1; above != lineage.rend(); ++above) {
    const UnitLine* line = log.FindDone(ToString(UnitId{above->stage, id}));
    if (line == nullptr || line->recipe != PartitionRecipe(above->recipe, id)) continue;
    for (const auto& [stage, counts] : line->counts) all.insert_or_assign(stage, counts);
  }
  return all;
}

/// What the log says of an input outside any partition.
void AddEnds(const RunLog& log, const PieceKeys& keys, Counts& all) {
  for (std::uint32_t input = 0; input < keys.end_recipes.size(); ++input)
    if (const UnitLine* line = FindEnd(log, keys, input))
      for (const auto& [stage, counts] : line->counts) all[stage] += counts;
}

/// Of the stages in front of a Gather stage, whose own counts are those of what it gives. Its pieces may be
/// gone, their lines are not.
void AddGathered(const RunLog& log, const PlannedSegment::Gathered& gathered,
                 std::span<const LineageStage> lineage, Counts& all) {
  Counts before;
  for (const UnitLine* line : log.List(gathered.keys.stage + "/")) {
    const std::optional<UnitId> unit = ParseUnitId(line->unit);
    const auto* id = unit ? std::get_if<PartitionId>(&unit->part) : nullptr;
    const UnitLine* done = id == nullptr ? nullptr : log.FindDone(line->unit);
    if (done == nullptr || done->recipe != PartitionRecipe(gathered.keys.recipe, *id)) continue;
    for (const auto& [stage, counts] : CountsOf(log, gathered.keys.stage, lineage, *id))
      before[stage] += counts;
  }
  AddEnds(log, gathered.keys, before);
  before.erase(gathered.lineage.back().stage);
  for (const auto& [stage, counts] : before) all[stage] += counts;
}

}  // namespace

ArtifactSummary Summarize(const RunLog& log, const PlannedSegment& planned,
                          const std::vector<Piece>& pieces) {
  ArtifactSummary summary;
  std::size_t begin = 0;  // in the lineage: the source, or the Gather stage that numbered what follows
  for (const PlannedSegment::Gathered& gathered : planned.gathered) {
    const std::span<const LineageStage> lineage = gathered.lineage;
    AddGathered(log, gathered, lineage.subspan(begin), summary.counts);
    begin = gathered.lineage.size() - 1;
  }
  const auto lineage = std::span<const LineageStage>(planned.lineage).subspan(begin);
  for (const Piece& piece : pieces) {
    for (const auto& [stage, counts] : CountsOf(log, planned.keys.stage, lineage, piece.id))
      summary.counts[stage] += counts;
    for (const auto& [split, part] : piece.splits) {
      ArtifactTotals::Split& total = summary.splits[split];
      total.records += part.records;
      total.documents += part.documents;
      total.bytes += part.bytes;
    }
  }
  AddEnds(log, planned.keys, summary.counts);
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
    if (spec.type->is_source() && assembly.source)
      if (const Status verdict = assembly.source->Judge(totals); !verdict.ok())
        fail(StrCat("stage '", spec.name, "': ", verdict.message()));
    // A segment that only stands by may lack its stages: what they take is not there any more.
    if (spec.type->is_transform() && transform < assembly.transforms.size()) {
      const Status verdict = assembly.transforms[transform++]->Judge(totals);
      if (!verdict.ok()) fail(StrCat("stage '", spec.name, "': ", verdict.message()));
    }
    // Behind a stage that gave too little a Sink has too little as well.
    if (spec.type->is_sink() && assembly.sink && failures.empty())
      if (const Status verdict = assembly.sink->Judge(totals); !verdict.ok())
        fail(StrCat("stage '", spec.name, "': ", verdict.message()));
    for (const Expectation& expected : spec.expect) {
      const double value = MetricOf(*spec.type, expected.metric, totals.counts);
      if (value >= expected.low && value <= expected.high) continue;
      fail(StrCat("stage '", spec.name, "': ", expected.metric, " is ", Number(value), ", expected ",
                  Number(expected.low), " to ", Number(expected.high)));
    }
  }
  if (failures.empty()) return {};
  return Status(Code::kFailedPrecondition, failures);
}

}  // namespace pipeline
