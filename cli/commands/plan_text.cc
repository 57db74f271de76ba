#include "cli/commands/plan_text.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "cli/commands/print_line.h"
#include "dag/artifact_summary.h"
#include "dag/books/manifest.h"
#include "dag/environment.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

namespace {

/// Returns the word in a form that can be pasted into a shell.
std::string ForShell(const std::string& word) {
  static constexpr std::string_view kPlain =
      "/._-:@%+=,0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const auto is_plain = [](char c) {
    return static_cast<signed char>(c) < 0 || kPlain.find(c) != std::string_view::npos;
  };
  if (std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ChainText(const Graph& graph, const PlannedSegment& segment, const Plan& plan) {
  std::string text;
  for (const std::optional<SegmentId>& from : {segment.upstream, segment.barrier})
    if (from) text = plan.segments[*from].keys.stage + " => ";
  if (segment.files) text = graph[*segment.files].spec->name + " -> ";
  for (std::size_t at = 0; at < segment.chain.size(); ++at)
    text += StrCat(at == 0 ? "" : " -> ", graph[segment.chain[at]].spec->name);
  return text.empty() ? graph[segment.node].spec->name : text;
}

/// Returns the side inputs of a segment, each once.
std::vector<std::string> SideInputsOf(const PlannedSegment& segment, const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedSegment::SideInput& side_input : segment.side_inputs) {
    const std::string& name =
        side_input.segment ? plan.segments[*side_input.segment].keys.stage : side_input.file;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string_view StateText(const PlannedSegment& segment) {
  switch (segment.state) {
    case PlannedSegment::State::kUpToDate: return "up to date";
    case PlannedSegment::State::kNotSelected: return "not selected";
    case PlannedSegment::State::kWanted: break;
  }
  return segment.copy_from.empty() ? "run" : "copy";
}

using CountsByStage = std::map<std::string, StageCounts, std::less<>>;

void PrintCounts(const Lineage& lineage, const CountsByStage& counts) {
  for (const LineageStage& stage : lineage) {  // in the order in which records pass the stages
    const auto found = counts.find(stage.stage);
    if (found == counts.end()) continue;
    if (const std::string text = CountsText(found->second); !text.empty())
      PrintLine(StrCat("    ", stage.stage, ": ", text));
  }
}

/// Returns the location in a form in which people find it.
std::string ShownLocation(const PlannedSegment& segment) {
  if (!segment.location.starts_with(kWorkLocation)) return segment.location;
  return StrCat("artifacts/", segment.location.substr(kWorkLocation.size()), " of the work directory");
}

void PrintJob(const PlannedSegment& segment, const Manifest& manifest) {
  PrintLine(StrCat("stage '", manifest.stage(), "': ", manifest.sidecars.size(), " objects, ",
                   HumanBytes(BytesOf(manifest.sidecars)), ", in ", ShownLocation(segment)));
  for (const auto& [fact, value] : manifest.facts.AsObject())
    PrintLine(StrCat("    ", fact, ": ", value.Dump()));
}

void PrintSplits(const std::map<std::string, ArtifactTotals::Split, std::less<>>& splits) {
  for (const auto& [split, total] : splits)
    PrintLine(StrCat("    split ", split, ": ", total.records, " records of ", total.documents,
                     " documents, ", HumanBytes(total.bytes)));
}

constexpr std::uint64_t kToldMemory = 16 << 20;

}  // namespace

void PrintPlan(const Graph& graph, const Plan& plan, const Forecast& forecast, bool explain,
               bool forecast_too) {
  bool unknown = false;
  for (const SegmentId at : plan.segments.ids()) {
    const PlannedSegment& segment = plan.segments[at];
    const SegmentForecast& expected = forecast.segments[at];
    std::string line = StrCat("[", StateText(segment), "] ", ChainText(graph, segment, plan));
    for (const std::string& name : SideInputsOf(segment, plan)) line += " + " + name;
    if (!segment.location.empty()) line += StrCat(" -> ", ShownLocation(segment));
    if (forecast_too && segment.state == PlannedSegment::State::kWanted) {
      line += expected.read_bytes == 0 && expected.text_bytes == 0
                  ? std::string(": size unknown")
                  : StrCat(": reads ", HumanBytes(expected.read_bytes), ", about ",
                           HumanBytes(expected.text_bytes), " of text");
      unknown = unknown || (expected.read_bytes == 0 && expected.text_bytes == 0);
      const SinkKind* const sink = graph[segment.node].spec->type->sink();
      if (sink != nullptr && sink->published_bytes && expected.published_bytes > 0)
        line += StrCat(", publishes about ", HumanBytes(expected.published_bytes));
      if (expected.partitions_left > 0) line += StrCat(", ", expected.partitions_left, " partitions");
    }
    PrintLine(line);
    if (explain)
      for (const std::string& why : segment.because) PrintLine(StrCat("    because ", why));
  }
  if (!forecast_too) return;
  const std::string spool = forecast.spool_bytes == 0 ? std::string()
                                                      : StrCat(", ", HumanBytes(forecast.spool_bytes),
                                                               " of it for shards on their way to buckets");
  PrintLine(StrCat("peak of disk: ", unknown ? "more than " : "about ", HumanBytes(forecast.peak_disk_bytes),
                   spool));
  if (forecast.input_memory_bytes >= kToldMemory)
    PrintLine(StrCat("memory: about ", HumanBytes(forecast.input_memory_bytes),
                     " of limits.memory for what is kept of the input files and their partitions"));
}

void PrintUpToDate(const Graph& graph, const Plan& plan) {
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kUpToDate) continue;
    const std::string& name = graph[segment.node].spec->name;
    PrintLine(StrCat("stage '", name, "' is up to date",
                     segment.location.empty() ? "" : StrCat(": ", ShownLocation(segment))));
  }
  PrintLine("nothing to do");
}

std::string CountsText(const StageCounts& counts) {
  std::string text;
  if (counts.records_in > 0 || counts.records_out > 0)
    text = StrCat(counts.records_in, " records in, ", counts.records_out, " out");
  for (const auto& [reason, number] : counts.reasons)
    text += StrCat(text.empty() ? "" : ", ", reason, " ", number);
  return text;
}

void PrintResults(const Graph& graph, const Plan& plan, const Environment& environment,
                  const std::map<SegmentId, RemovedOutputs>& removed) {
  for (const SegmentId at : plan.segments.ids()) {
    const PlannedSegment& segment = plan.segments[at];
    if (segment.state != PlannedSegment::State::kWanted) continue;
    const std::string& name = graph[segment.node].spec->name;
    if (const auto gone = removed.find(at); gone != removed.end()) {
      PrintLine(StrCat("stage '", name, "': ", gone->second.partitions,
                       " partitions, removed since nothing needs them any more"));
      PrintSplits(gone->second.summary.splits);
      PrintCounts(segment.lineage, gone->second.summary.counts);
      continue;
    }
    const Result<std::unique_ptr<Store>> store = segment.publishes
                                                     ? OpenLocation(environment, segment.location)
                                                     : OpenOutputs(environment, segment.directory);
    if (!store.ok()) continue;
    const Result<Manifest> manifest = ReadManifest(**store, segment.location);
    if (!manifest.ok()) continue;
    if (segment.job) {
      PrintJob(segment, *manifest);
      continue;
    }
    std::uint64_t bytes = 0;
    for (const ManifestShard& shard : manifest->shards) bytes += shard.object.bytes;
    if (segment.publishes)
      PrintLine(StrCat("stage '", name, "': ", manifest->shards.size(), " shards, ", HumanBytes(bytes),
                       ", in ", segment.location));
    else
      PrintLine(
          StrCat("stage '", name, "': ", manifest->partitions.size(), " partitions in the work directory"));
    PrintSplits(manifest->splits);
    PrintCounts(manifest->lineage, manifest->counts);
    if (segment.publishes)
      PrintLine(StrCat("  look at it with `pipe cat ", ForShell(segment.location),
                       " --limit 5`, check it with `pipe verify ", ForShell(segment.location), "`"));
  }
}

}  // namespace pipeline
