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
#include "cli/report/stage_status.h"
#include "cli/submission/workers_status.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/books.h"
#include "cli/workspace/last_settings.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/books/unit_id.h"
#include "dag/package/work_history.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

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
