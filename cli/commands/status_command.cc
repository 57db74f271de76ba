#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/attendance.h"
#include "base/clock.h"
#include "base/enumeration.h"
#include "base/json_fields.h"
#include "base/log.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/commands/commands.h"
#include "cli/report/run_record.h"
#include "cli/report/run_status.h"
#include "cli/submission/workers_status.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/books.h"
#include "cli/workspace/last_settings.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/books/run_log.h"
#include "dag/books/unit_id.h"
#include "dag/books/work_dir.h"
#include "dag/package/work_history.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/reading_rules.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

/// The work of one stage according to the log, and its state in the last run.
struct StageStatus {
  std::uint64_t partitions = 0;
  std::uint64_t partitions_of = 0;  // as far as they are known; never fewer than `partitions`
  bool more_to_come = false;        // an input was not read to its end
  std::uint64_t inputs = 0;         // read to their end
  std::uint64_t shards = 0;
  std::uint64_t records = 0;  // in partitions
  bool job_done = false;
  std::map<std::string, std::string> failures;  // unit -> reason
  std::string location;
  std::string state;        // in the last run, by its record; empty: it has no record
  std::string passes_with;  // the other stage at whose end its records are kept; empty: none
  bool logged = false;
  std::uint32_t segment = 0;  // the newest of its lines that are done
  std::string with;           // keys of what is done that the file asks otherwise: "vocab_size 276"
  std::string asks;           // what the file asks: "8000"
};

/// One input of a stage.
struct InputStatus {
  std::map<std::uint32_t, std::uint64_t> done;  // records by partition
  std::optional<std::uint32_t> all;             // partitions; absent: it was not read to its end
};
using InputsOfStage = std::map<std::uint32_t, InputStatus>;

void Take(const UnitLine& line, const UnitId& unit, InputsOfStage& inputs, StageStatus& status) {
  status.logged = true;
  if (line.state == UnitState::kFailed) status.failures.emplace(line.unit, line.reason);
  if (const auto* const stream = std::get_if<StreamId>(&unit.part)) {
    InputStatus& input = inputs[stream->input];
    if (line.state == UnitState::kEnd) input.all = line.partitions;
  }
  if (line.state != UnitState::kDone) return;
  status.segment = std::max(status.segment, line.segment);
  if (const auto* const partition = std::get_if<PartitionId>(&unit.part)) {
    inputs[partition->input].done.emplace(partition->partition, line.records);
  } else if (std::holds_alternative<ShardId>(unit.part)) {
    ++status.shards;
    status.location = line.location;
  } else if (std::holds_alternative<JobId>(unit.part)) {
    status.job_done = true;
    status.location = line.location;
  }
}

/// Absent: the log has none that can be read.
std::optional<Lineage> LineageOf(const RunLog& log, std::uint32_t segment) {
  const SegmentLine* const line = log.FindSegment(segment);
  const Result<Json> json = line == nullptr ? Result<Json>(Json()) : Json::Parse(line->lineage);
  Result<Lineage> lineage = json.ok() ? LineageFromJson(*json) : Result<Lineage>(json.status());
  return line != nullptr && lineage.ok() ? std::optional(std::move(*lineage)) : std::nullopt;
}

/// Counts the partitions input by input: one input may have been read to its end while another one goes on,
/// so a sum of all partitions that are done compares with no sum of ends.
void Count(const RunLog& log, const std::string& stage, const InputsOfStage& inputs, StageStatus& status) {
  const std::optional<Lineage> lineage = LineageOf(log, status.segment);
  const std::size_t files = lineage && !lineage->empty() ? lineage->front().sources.size() : 0;
  for (const auto& [number, input] : inputs) {
    if (files > 0 && number >= files) break;  // of an earlier run, which had more files
    std::uint64_t done = 0;
    for (const auto& [partition, records] : input.done) {
      if (input.all && partition >= *input.all) break;  // of an earlier state of the input, which was longer
      ++done;
      status.records += records;
    }
    status.partitions += done;
    if (input.all) {
      ++status.inputs;
      status.partitions_of += *input.all;
      continue;
    }
    const UnitLine* const cuts = log.FindCuts(ToString(UnitId{stage, StreamId{number}}));
    const std::uint64_t known =
        cuts == nullptr ? 0 : std::max<std::uint64_t>(cuts->partitions, cuts->cuts.size());
    status.partitions_of += std::max(known, done);
    status.more_to_come |= cuts == nullptr || cuts->HasFirstCuts() || known < done;
  }
}

std::string Shown(const Json& value) {
  if (value.is_null()) return "none";
  return value.is_string() ? std::string(value.AsString()) : value.Dump();
}

void AddDifference(std::string_view what, std::string_view done, std::string_view asked, bool named,
                   StageStatus& status) {
  const auto add = [](std::string& text, std::string_view words) {
    text += StrCat(text.empty() ? "" : ", ", words);
  };
  add(status.with, StrCat(what, " ", done));
  add(status.asks, named ? StrCat(what, " ", asked) : std::string(asked));
}

/// Adds the keys of a stage whose values in finished work differ from those that the file asks for now.
/// `named_stage`: empty, or "STAGE." in front of the keys of an earlier stage.
void CompareKeys(const LineageStage& done, const StageSpec& spec, std::string_view named_stage,
                 StageStatus& status) {
  if (done.type != spec.type->name) return;
  Json asked = CanonicalConfig(spec.type->keys, spec.config), made = done.config;
  // Rules 1 of reading are in no recipe. Where the file names no rules, a plan takes those of finished work.
  if (!made.Has(kRulesKey)) made[kRulesKey] = kFirstRules;
  asked[kRulesKey] = spec.config.Has(kRulesKey) ? spec.config[kRulesKey] : made[kRulesKey];
  std::vector<std::string_view> keys;
  for (const ConfigKey& key : spec.type->keys)
    if (made[key.name] != asked[key.name]) keys.push_back(key.name);
  for (const std::string_view key : keys)
    AddDifference(StrCat(named_stage, key), Shown(made[key]), Shown(asked[key]),
                  keys.size() > 1 || !named_stage.empty(), status);
}

/// Compares the work of a stage that is done with what the file asks for now: its own keys, or else those of
/// the stages before it, or else its place.
void CompareWithFile(const RunLog& log, const PipelineSpec& file, const StageSpec& spec,
                     StageStatus& status) {
  const std::optional<Lineage> lineage = LineageOf(log, status.segment);
  if (!lineage || (!status.job_done && status.shards == 0 && status.partitions == 0)) return;
  for (const bool own : {true, false})
    for (const LineageStage& done : *lineage) {
      const auto asked = std::find_if(file.stages.begin(), file.stages.end(),
                                      [&done](const StageSpec& stage) { return stage.name == done.stage; });
      if (asked == file.stages.end() || (&*asked == &spec) != own || (!own && !status.with.empty())) continue;
      CompareKeys(done, *asked, own ? "" : StrCat(done.stage, "."), status);
    }
  const std::string place = LocationOfStage(spec);
  if (status.with.empty() && !status.location.empty() && !place.empty() && status.location != place)
    AddDifference("out", status.location, place, false, status);
}

/// Failures before a successful run no longer count: the stage became complete in that run, or was complete
/// already.
void AddState(const RunStatus& last, const RecordedStage& stage, StageStatus& status) {
  status.state = StateOf(*last.record, stage);
  if (!stage.segment.empty() && stage.segment != stage.name) status.passes_with = stage.segment;
  if (status.state == "done" || status.state == "copied" || status.state == "up to date")
    status.failures.clear();
}

Json ToJson(const StageStatus& status) {
  JsonWriter json;
  json.Written("partitions", status.partitions).Written("partitions_of", status.partitions_of);
  json.Written("inputs_ended", status.inputs).Written("shards", status.shards);
  json.Written("records", status.records).Loose("state", status.state);
  json.Loose("passes_with", status.passes_with).Loose("done", status.job_done);
  json.Loose("place", status.location).Loose("failures", status.failures);
  if (!status.with.empty()) json.Written("done_with", status.with).Written("asked", status.asks);
  return json.Finish();
}

std::string ToText(const StageStatus& status) {
  std::string text = status.state;
  const auto add = [&text](std::string_view more) { text += StrCat(text.empty() ? "" : ", ", more); };
  const std::string with =
      status.with.empty() ? std::string() : StrCat(" with ", status.with, "; this file asks ", status.asks);
  if (status.job_done && (status.failures.empty() || !with.empty())) {
    if (text != "done") add("done");
    text += StrCat(with, ", in ", status.location);
  } else if (status.partitions > 0 || status.inputs > 0 || status.shards > 0) {
    const bool knows_more =
        !status.more_to_come || status.inputs > 0 || status.partitions_of > status.partitions;
    add(knows_more ? StrCat(status.partitions, status.more_to_come ? " of at least " : " of ",
                            Counted(status.partitions_of, "partition"))
                   : Counted(status.partitions, "partition"));
    add(Counted(status.records, "record"));
    if (status.shards > 0)
      text += StrCat(", ", Counted(status.shards, "shard"), with, " in ", status.location);
  } else if (!status.passes_with.empty()) {
    add(StrCat("in one pass with '", status.passes_with, "'"));
  }
  if (text.empty()) text = status.logged ? "nothing done" : "not begun";
  for (const auto& [unit, reason] : status.failures) text += StrCat("\n  failed: ", WithUnit(reason, unit));
  return text;
}

std::string Duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0));
  if (whole < 60) return StrCat(whole, " s");
  if (whole < 3600) return StrCat(whole / 60, " m ", ZeroPadded(whole % 60, 2), " s");
  return StrCat(whole / 3600, " h ", ZeroPadded(whole / 60 % 60, 2), " m");
}

std::string Fixed1(double value) {
  const auto tenths = static_cast<std::uint64_t>(std::max(value, 0.0) * 10 + 0.5);
  return StrCat(tenths / 10, ".", tenths % 10);
}

std::string ToText(const RunStatus& last, std::int64_t now) {
  const RunLine& run = last.line;
  std::string text = StrCat("last run: ", Iso8601(run.started), ", `", run.command, "`, ");
  if (run.outcome == kWaiting) return text + "has not ended, and waits for workers";
  if (!run.outcome.empty()) {
    return text +
           StrCat(run.outcome, " after ", Duration(static_cast<double>(run.ended - run.started) / 1000));
  }
  if (last.by_workers) return text + "goes on by workers";
  if (!last.runs) return text + StrCat("was killed (pid ", run.pid, "), or runs on another machine");
  text +=
      StrCat("running as pid ", run.pid, " for ", Duration(static_cast<double>(now - run.started) / 1000));
  if (last.now && last.now->at > 0)
    text += StrCat(", ", Fixed1(last.now->cpu / last.now->at), " cores busy, ", HumanBytes(last.now->rss),
                   " of memory, ", HumanBytes(last.now->written), " committed");
  return text;
}

std::string ToText(const RunNow::Unit& unit, double at) {
  std::string text = StrCat("  now: ", unit.unit, ", ", Duration(at - unit.since));
  if (unit.of > 0 && unit.done > 0)
    text += StrCat(
        ", ",
        static_cast<int>(100 * std::min(1.0, static_cast<double>(unit.done) / static_cast<double>(unit.of))),
        "%");
  if (!unit.said.empty())
    text += StrCat(", ", unit.said);
  else if (unit.records > 0)
    text += StrCat(", ", Counted(unit.records, "record"));
  if (unit.child_cpu > 0 || unit.child_rss > 0)
    text += StrCat(", child processes ", Fixed1(unit.child_cpu), " s of processors, ",
                   HumanBytes(unit.child_rss));
  return text;
}

Json ToJson(const RunStatus& last) {
  const RunLine& line = last.line;
  JsonWriter json;
  json.Written("id", line.id).Written("started", line.started).Written("command", line.command);
  json.Written("pid", line.pid).Written("running", last.runs).Loose("outcome", line.outcome);
  if (line.ended > 0) json.Written("ended", line.ended);
  if (last.now)
    if (const Result<Json> now = Json::Parse(EncodeNow(*last.now)); now.ok()) json.Written("now", *now);
  return json.Finish();
}

struct StatusOptions {
  PipelineOptions pipeline;
  bool json = false;
};

/// All that the command shows.
struct WorkStatus {
  std::size_t runs = 0;
  std::optional<RunStatus> last;
  std::optional<WorkersStatus> workers;
  std::map<std::string, StageStatus> stages;
  bool is_empty = false;
};

/// Absent: no workers do the run, or the work package cannot be read, which is reported.
std::optional<WorkersStatus> WorkersOf(const std::string& home) {
  const Result<std::unique_ptr<Store>> work = OpenStore(home);
  if (!work.ok()) return std::nullopt;
  Result<std::optional<WorkersStatus>> workers = LookAtWorkers(**work, SystemClock().UnixMillis(), {});
  if (workers.ok()) return std::move(*workers);
  LogWarning(StrCat("the state of the workers cannot be read (", workers.status().message(), ")"));
  return std::nullopt;
}

/// Returns whether a worker has a unit with this stage. The history does not tell which stages are complete.
bool IsAtWork(const WorkersStatus& workers, const RecordedStage& stage) {
  const std::string& segment = stage.segment.empty() ? stage.name : stage.segment;
  return std::any_of(workers.workers.begin(), workers.workers.end(),
                     [&](const WorkerStatus& worker) { return StageOfUnit(worker.unit) == segment; });
}

/// Returns whether the failure of `unit` stands below its stage.
bool IsShownWithStage(const std::map<std::string, StageStatus>& stages, const std::string& unit) {
  const auto stage = stages.find(std::string(StageOfUnit(unit)));
  return stage != stages.end() && stage->second.failures.contains(unit);
}

std::map<std::string, StageStatus> StagesIn(const RunLog& log, const PipelineSpec& spec) {
  std::map<std::string, StageStatus> stages;
  std::map<std::string, InputsOfStage> inputs;
  for (const UnitLine* line : log.List("")) {
    const std::optional<UnitId> unit = ParseUnitId(line->unit);
    if (!unit) continue;
    Take(*line, *unit, inputs[unit->stage], stages[unit->stage]);
    // The work of an earlier run is there, although the newest run failed.
    if (const UnitLine* const done = log.FindDone(line->unit); line->state == UnitState::kFailed && done)
      Take(*done, *unit, inputs[unit->stage], stages[unit->stage]);
  }
  for (const auto& [stage, some] : inputs) Count(log, stage, some, stages[stage]);
  for (const StageSpec& stage : spec.stages)
    if (const auto known = stages.find(stage.name); known != stages.end())
      CompareWithFile(log, spec, stage, known->second);
  return stages;
}

WorkStatus LookAtWork(const Books& books, const PipelineSpec& spec) {
  WorkStatus status;
  status.stages = StagesIn(*books.log, spec);
  const RunsStatus runs(books);
  status.runs = runs.lines().size();
  if (status.runs > 0) status.last = runs.Look(runs.lines().back());
  status.workers = WorkersOf(books.home);
  const std::optional<RunStatus>& last = status.last;
  if (last && last->record)
    for (const RecordedStage& stage : last->record->stages) {
      if (!last->IsOpen())
        AddState(*last, stage, status.stages[stage.name]);
      else if (status.workers && IsAtWork(*status.workers, stage))
        status.stages[stage.name].state = "running";
    }
  status.is_empty = !last && status.stages.empty() && !status.workers;
  return status;
}

Json ToJson(const WorkStatus& status, const PipelineSpec& spec, const std::string& home) {
  Json json;
  if (status.workers) json["workers"] = ToJson(*status.workers);
  json["pipeline"] = spec.name;
  json["work"] = home;
  json["runs"] = status.runs;
  if (status.last) json["last_run"] = ToJson(*status.last);
  json["order"] = Json(Json::Array{});
  json["stages"] = Json(Json::Object{});
  for (const StageSpec& stage : spec.stages) {
    json["order"].Append(stage.name);
    const auto known = status.stages.find(stage.name);
    if (known != status.stages.end() && (known->second.logged || !known->second.state.empty()))
      json["stages"][stage.name] = ToJson(known->second);
  }
  return json;
}

/// Returns the lines about failures that stand below no stage.
std::string FailuresIn(const WorkStatus& status) {
  const std::optional<RunStatus>& last = status.last;
  std::string text;
  if (last && last->record && last->record->end)
    for (const auto& [unit, why] : last->record->end->failures)
      if (!IsShownWithStage(status.stages, unit)) text += StrCat("  failed: ", WithUnit(why, unit), "\n");
  // `pipe run` may have come after the workers, and its failures are in the log.
  if (status.workers && status.workers->view.end && (!last || last->by_workers))
    for (const std::string& line : FailureLines(status.workers->view.end->failures))
      text += StrCat("failed: ", line, "\n");
  return text;
}

/// Returns the lines about `stage` in a run at work.
std::string LinesNow(const RunNow& now, const std::string& stage) {
  std::string text;
  if (const auto shards = now.shards.find(stage);
      shards != now.shards.end() && shards->second.first < shards->second.second)
    text += StrCat("  now: shard ", shards->second.first, " of ", shards->second.second, "\n");
  for (const RunNow::Unit& unit : now.units)
    if (StageOfUnit(unit.unit) == stage) text += ToText(unit, now.at) + "\n";
  return text;
}

std::string ToText(const WorkStatus& status, const PipelineSpec& spec) {
  std::string text;
  if (status.last) text += ToText(*status.last, SystemClock().UnixMillis()) + "\n";
  text += FailuresIn(status);
  if (status.workers)
    if (const std::string workers = ToText(*status.workers); !workers.empty()) text += workers + "\n";
  if (status.stages.empty()) return text;
  for (const StageSpec& stage : spec.stages) {
    const auto known = status.stages.find(stage.name);
    text +=
        StrCat(stage.name, ": ", ToText(known == status.stages.end() ? StageStatus() : known->second), "\n");
    if (status.last && status.last->now) text += LinesNow(*status.last->now, stage.name);
  }
  return text;
}

int PrintStatus(const StatusOptions& options) {
  const Attendance attendance({});
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options.pipeline, LoadPurpose::kRead);
  if (!loaded) return kExitRefused;
  const WorkPlace place = WorkPlaceOf(options.pipeline, loaded->spec);
  const std::optional<Books> books = OpenBooks(place);
  if (!books) return kExitRefused;
  const WorkStatus status = LookAtWork(*books, loaded->spec);
  if (options.json) {
    PrintText(ToJson(status, loaded->spec, books->home).DumpPretty());
    return status.is_empty ? kExitRefused : kExitDone;
  }
  std::string text = StrCat(loaded->spec.name, ": ", place.is_remote() ? "home " : "work directory ",
                            place.is_remote() ? place.home : books->directory.path(), "\n");
  if (!status.last && status.stages.empty())
    text += StrCat("nothing ran yet; `pipe run ", options.pipeline.file, "` begins\n");
  else if (!status.last)
    text += "no `pipe run` yet: workers did all that is done\n";
  PrintText(TerminalText(text + ToText(status, loaded->spec)));
  return status.is_empty ? kExitRefused : kExitDone;
}

}  // namespace

Command StatusCommand() {
  const auto options = std::make_shared<StatusOptions>();
  return {
      .name = "status",
      .help = "Show which stages are done, which failed and why, and the places of their artifacts",
      .words = Joined(PipelineWords(options->pipeline),
                      {{.flags = {"--json"}, .help = "As JSON", .to = &options->json}}),
      .run =
          [options](const Call& call) {
            const Status taken = WithLastSettings(call, options->pipeline, false).status();
            return taken.ok() ? PrintStatus(*options) : Refuse(taken);
          },
  };
}

}  // namespace pipeline
