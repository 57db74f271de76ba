#include "cli/commands/plan_text.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/enumeration.h"
#include "base/str.h"
#include "cli/report/run_facts.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/standard_output.h"
#include "dag/books/manifest.h"
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
  return std::all_of(word.begin(), word.end(), is_plain) ? word : ShellQuoted(word);
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

/// Returns the location in a form in which people find it.
std::string ShownLocation(const PlannedSegment& segment) {
  if (!segment.location.starts_with(kWorkLocation)) return segment.location;
  return StrCat("artifacts/", segment.location.substr(kWorkLocation.size()), " of the work directory");
}

/// Lines about what was made: with the scores and the next commands, the end of a run has ten.
constexpr std::size_t kMostMade = 5;
constexpr std::pair<const char*, std::string_view> kToldFacts[] = {{"vocab_size", "piece"},
                                                                   {"steps", "step"}};

/// An artifact that was made, or the partition files of a stage that publishes nothing.
struct Made {
  const PlannedSegment* segment;
  Manifest manifest;
};

std::optional<Made> MadeBy(const PlannedSegment& segment, const Environment& environment) {
  if (segment.state != PlannedSegment::State::kWanted) return std::nullopt;
  const Result<std::unique_ptr<Store>> store = segment.publishes
                                                   ? OpenLocation(environment, segment.location)
                                                   : OpenOutputs(environment, segment.directory);
  if (!store.ok()) return std::nullopt;
  Result<Manifest> manifest = ReadManifest(**store, segment.location);
  if (!manifest.ok()) return std::nullopt;
  return Made{&segment, std::move(*manifest)};
}

/// "2000 pieces, ": what a person asks first; the manifest and the report have all facts.
std::string FactsText(const Json& facts) {
  std::string text;
  for (const auto& [name, one] : kToldFacts)
    if (facts[name].is_int())
      text += StrCat(Counted(static_cast<std::uint64_t>(facts[name].AsInt()), one), ", ");
  return text;
}

std::string MadeText(const Made& made) {
  const auto& [segment, manifest] = made;
  if (segment->job)
    return StrCat(manifest.stage(), ": ", FactsText(manifest.facts),
                  Counted(manifest.sidecars.size(), "object"), ", ", HumanBytes(BytesOf(manifest.sidecars)),
                  ", in ", ShownLocation(*segment));
  std::string text = manifest.stage() + ": ";
  for (const auto& [split, total] : manifest.splits)
    text += StrCat(split, " ", Counted(total.records, "record"), " of ", Counted(total.documents, "document"),
                   ", ");
  if (!segment->publishes)
    return StrCat(text, Counted(manifest.partitions.size(), "partition"), " in the work directory");
  std::uint64_t bytes = 0;
  for (const ManifestShard& shard : manifest.shards) bytes += shard.object.bytes;
  return StrCat(text, Counted(manifest.shards.size(), "shard"), ", ", HumanBytes(bytes), ", in ",
                segment->location);
}

/// The commands for the model of a training; empty: the model is unknown.
std::string CommandFor(const RecordedTraining& training, const std::string& location) {
  const std::string run = ForShell(location);
  if (!training.labels.empty())
    return StrCat("ask it: pipe predict ", run, " FILE  (the answer to each line of a text file)");
  if (training.objective == "causal") return StrCat("let it write: pipe sample ", run, " --prompt TEXT");
  return {};
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
      if (expected.partitions_left > 0) line += StrCat(", ", Counted(expected.partitions_left, "partition"));
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
    text = StrCat(Counted(counts.records_in, "record"), " in, ", counts.records_out, " out");
  for (const auto& [reason, number] : counts.reasons)
    text += StrCat(text.empty() ? "" : ", ", reason, " ", number);
  return text;
}

std::vector<std::string> CountLines(const Graph& graph, const Plan& plan, const Environment& environment,
                                    std::string_view stage, std::set<std::string>& told) {
  std::vector<std::string> lines;
  for (const PlannedSegment& segment : plan.segments) {
    if (graph[segment.node].spec->name != stage) continue;
    const std::optional<Made> made = MadeBy(segment, environment);
    if (!made) continue;
    for (const LineageStage& of : made->manifest.lineage) {  // in the order in which records pass the stages
      const auto found = made->manifest.counts.find(of.stage);
      const std::string text = !of.sources.empty()                    ? Counted(of.sources.size(), "file")
                               : found == made->manifest.counts.end() ? std::string()
                                                                      : CountsText(found->second);
      if (!text.empty() && told.insert(of.stage).second)
        lines.push_back(StrCat("stage '", of.stage, "': ", text));
    }
  }
  return lines;
}

void PrintResults(const Graph& graph, const Plan& plan, const Environment& environment,
                  const std::vector<RecordedTraining>& trainings) {
  std::vector<Made> made;
  for (const PlannedSegment& segment : plan.segments)
    if (std::optional<Made> found = MadeBy(segment, environment)) made.push_back(std::move(*found));
  if (std::any_of(made.begin(), made.end(), [](const Made& one) { return one.segment->publishes; }))
    std::erase_if(made, [](const Made& one) { return !one.segment->publishes; });
  const std::size_t first = made.size() > kMostMade ? made.size() - kMostMade + 1 : 0;
  if (first > 0)
    PrintLine(
        StrCat("made ", Counted(made.size(), "artifact"), ", which `pipe status` names; the last ones:"));
  std::string all, look;
  std::vector<std::string> commands;
  for (std::size_t at = first; at < made.size(); ++at) {
    PrintLine(MadeText(made[at]));
    const PlannedSegment& segment = *made[at].segment;
    if (!segment.publishes || segment.location.starts_with(kWorkLocation)) continue;
    all += " " + ForShell(segment.location);
    if (!segment.job && look.empty())
      look = StrCat("look at it: pipe cat ", ForShell(segment.location), " --limit 5");
    const auto is_it = [&](const RecordedTraining& one) {
      return one.stage == graph[segment.node].spec->name;
    };
    const auto training = std::find_if(trainings.begin(), trainings.end(), is_it);
    if (training == trainings.end()) continue;
    if (const std::string quality = QualityOf(*training); !quality.empty())
      PrintLine(StrCat("the model of '", training->stage, "' has ", quality));
    if (std::string command = CommandFor(*training, segment.location); !command.empty())
      commands.push_back(std::move(command));
  }
  if (!look.empty()) PrintLine(look);
  if (!all.empty()) PrintLine(StrCat("check it: pipe verify", all));
  for (const std::string& command : commands) PrintLine(command);
}

}  // namespace pipeline
