#include "cli/status_command.h"

#include <cstdio>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/exit_code.h"
#include "cli/pipeline_loader.h"
#include "dag/run_log.h"
#include "dag/unit_id.h"
#include "dag/work_dir.h"

namespace pipeline {

namespace {

/// What the log has of one stage.
struct StageStatus {
  std::uint64_t partitions = 0;
  std::uint64_t partitions_of = 0;  // where every input's end is known
  std::uint64_t inputs = 0;         // that were read to their end
  std::uint64_t shards = 0;
  std::uint64_t records = 0;  // in partitions
  bool job_done = false;
  std::map<std::string, std::string> failures;  // unit -> reason
  std::string place;
};

void Take(const UnitLine& line, const UnitId& unit, StageStatus& status) {
  if (line.state == UnitState::kFailed) status.failures.emplace(line.unit, line.reason);
  if (line.state == UnitState::kEnd) {
    ++status.inputs;
    status.partitions_of += line.partitions;
  }
  if (line.state != UnitState::kDone) return;
  if (std::holds_alternative<PartitionId>(unit.part)) {
    ++status.partitions;
    status.records += line.records;
  } else if (std::holds_alternative<ShardId>(unit.part)) {
    ++status.shards;
    status.place = line.place;
  } else if (std::holds_alternative<JobId>(unit.part)) {
    status.job_done = true;
    status.place = line.place;
  }
}

Json ToJson(const StageStatus& status) {
  Json json;
  json["partitions"] = status.partitions;
  json["partitions_of"] = status.partitions_of;
  json["inputs_ended"] = status.inputs;
  json["shards"] = status.shards;
  json["records"] = status.records;
  if (status.job_done) json["done"] = true;
  if (!status.place.empty()) json["place"] = status.place;
  for (const auto& [unit, reason] : status.failures) json["failures"][unit] = reason;
  return json;
}

std::string ToText(const StageStatus& status) {
  if (status.job_done && status.failures.empty()) return StrCat("done, in ", status.place);
  std::string text = StrCat(status.partitions);
  if (status.inputs > 0) text += StrCat(" of ", status.partitions_of);
  text += StrCat(" partitions, ", status.records, " records");
  if (status.shards > 0) text += StrCat(", ", status.shards, " shards in ", status.place);
  for (const auto& [unit, reason] : status.failures) text += StrCat("\n  failed: ", unit, ": ", reason);
  return text;
}

std::string ToText(const RunLine& run) {
  std::string text = StrCat("last run: ", Iso8601(run.started), ", `", run.command, "`, ");
  if (run.outcome.empty()) return text + StrCat("running as pid ", run.pid, " or killed");
  return text + StrCat(run.outcome, " after ", (run.ended - run.started) / 1000, " s");
}

}  // namespace

int StatusCommand(const Options& options) {
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options);
  if (!loaded) return kExitRefused;
  const WorkDir directory(WorkPath(options, loaded->spec));
  const Result<std::unique_ptr<RunLog>> log = RunLog::OpenReadOnly(directory.log());
  if (!log.ok()) {
    LogError(log.status().message());
    return kExitRefused;
  }
  std::map<std::string, StageStatus> stages;
  for (const UnitLine* line : (*log)->List("")) {
    const std::optional<UnitId> unit = ParseUnitId(line->unit);
    if (unit) Take(*line, *unit, stages[unit->stage]);
  }
  const std::vector<RunLine> runs = (*log)->Runs();
  if (options.json) {
    Json json;
    json["pipeline"] = loaded->spec.name;
    json["work"] = directory.path();
    json["runs"] = runs.size();
    json["stages"] = Json(Json::Object{});
    for (const auto& [stage, status] : stages) json["stages"][stage] = ToJson(status);
    std::printf("%s", json.DumpPretty().c_str());
    return kExitDone;
  }
  std::printf("%s: work directory %s\n", loaded->spec.name.c_str(), TerminalText(directory.path()).c_str());
  if (runs.empty())
    std::printf("nothing ran yet; `pipe run %s` begins\n", options.file.c_str());
  else
    std::printf("%s\n", TerminalText(ToText(runs.back())).c_str());
  for (const auto& [stage, status] : stages)
    std::printf("%s: %s\n", stage.c_str(), TerminalText(ToText(status)).c_str());
  return kExitDone;
}

}  // namespace pipeline
