#include "cli/report/write_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "base/utf8.h"
#include "base/whole_file.h"
#include "cli/report/report_page.h"
#include "cli/report/run_facts.h"
#include "cli/report/run_recorder.h"
#include "cli/report/training_record.h"
#include "cli/report/workers_run.h"
#include "cli/terminal/event_file.h"
#include "storage/local_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kPageName = "report.html";
constexpr std::size_t kDifferenceBytes = 200;
constexpr std::size_t kRunsBack = 100;

std::string Shown(const Json& value) {
  std::string text = value.is_string() ? std::string(value.AsString()) : value.Dump();
  return text.size() <= kDifferenceBytes ? text : StrCat(Utf8Front(text, kDifferenceBytes), "…");
}

void Differ(const std::string& what, const std::string& old_value, const std::string& new_value,
            std::vector<std::string>& found) {
  if (old_value == new_value) return;
  found.push_back(StrCat(what, ": ", old_value.empty() ? "(none)" : old_value, " -> ",
                         new_value.empty() ? "(none)" : new_value));
}

template <class Map>
void DifferMaps(const std::string& what, const Map& before, const Map& now, std::vector<std::string>& found) {
  for (const auto& [name, value] : now) {
    const auto old = before.find(name);
    Differ(StrCat(what, name), old == before.end() ? std::string() : old->second, value, found);
  }
  for (const auto& [name, value] : before)
    if (now.find(name) == now.end()) Differ(StrCat(what, name), value, {}, found);
}

std::map<std::string, std::string> ConfigOf(const RecordedStage& stage) {
  std::map<std::string, std::string> config;
  for (const auto& [name, value] : stage.config.AsObject()) config.emplace(name, Shown(value));
  return config;
}

std::map<std::string, std::string> SourcesOf(const RecordedStage& stage) {
  return {stage.sources.begin(), stage.sources.end()};
}

void DifferStages(const RecordedStage& before, const RecordedStage& now, std::vector<std::string>& found) {
  const std::string at = StrCat(now.name, ": ");
  Differ(at + "type", before.type, now.type, found);
  if (before.config.is_null() || now.config.is_null()) return;
  Differ(at + "version of the type", StrCat(before.version), StrCat(now.version), found);
  DifferMaps(at, ConfigOf(before), ConfigOf(now), found);
  DifferMaps(at + "library ", before.libraries, now.libraries, found);
  DifferMaps(at + "source ", SourcesOf(before), SourcesOf(now), found);
}

/// Returns the runs before the run `id`, the last one first.
std::vector<RunLine> RunsBefore(const RunLog& log, const std::string& id) {
  std::vector<RunLine> runs = log.Runs();
  runs.erase(std::find_if(runs.begin(), runs.end(), [&](const RunLine& run) { return run.id == id; }),
             runs.end());
  std::reverse(runs.begin(), runs.end());
  return runs;
}

std::vector<RecordedTraining> TrainingsOf(const WorkDir& work, const std::string& id) {
  std::ifstream said(StrCat(work.run(id), "/", kPluginEventsName));
  return ReadTrainings(said);
}

/// Empty: the record does not tell.
std::string RecipeIn(const RunRecord& record, const std::string& stage) {
  for (const RecordedStage& recorded : record.stages)
    if (recorded.name == stage) return recorded.recipe;
  return {};
}

}  // namespace

std::vector<std::string> DifferencesOf(const RunRecord& before, const RunRecord& now) {
  std::vector<std::string> found;
  Differ("pipe", before.begin.version, now.begin.version, found);
  std::map<std::string_view, const RecordedStage*> old;
  for (const RecordedStage& stage : before.stages) old.emplace(stage.name, &stage);
  for (const RecordedStage& stage : now.stages) {
    const auto same = old.find(stage.name);
    if (same == old.end()) {
      found.push_back(StrCat(stage.name, ": stage added"));
      continue;
    }
    DifferStages(*same->second, stage, found);
    old.erase(same);
  }
  for (const RecordedStage& stage : before.stages)
    if (old.contains(stage.name)) found.push_back(StrCat(stage.name, ": stage removed"));
  return found;
}

namespace {

/// The last run before `id` that left a record; absent: none.
std::optional<RunBefore> FindRunBefore(const WorkDir& work, const RunLog& log, const std::string& id,
                                       const RunRecord& now) {
  for (const RunLine& run : RunsBefore(log, id)) {
    const Result<RunRecord> record = ReadRecord(work, run.id);
    if (!record.ok()) continue;
    RunBefore before{run.id, run.command, run.outcome, run.started};
    if (record->end) before.duration = record->end->at, before.peak_rss = record->end->peak_rss;
    if (!record->moments.empty()) before.cpu = record->moments.back().cpu;
    std::error_code none;
    before.has_page = std::filesystem::exists(StrCat(work.run(run.id), "/", kPageName), none);
    before.differences = DifferencesOf(*record, now);
    return before;
  }
  return std::nullopt;
}

/// The trainings of the run `id`, whose record is `now`. If one resumed from a checkpoint, adds its events
/// from earlier runs in this work directory, with the same stage and recipe.
std::vector<RecordedTraining> FindTrainings(const WorkDir& work, const RunLog& log, const std::string& id,
                                            const RunRecord& now) {
  std::vector<RecordedTraining> trainings = TrainingsOf(work, id);
  const auto goes_on = [](const RecordedTraining& training) { return training.restored > 0; };
  std::size_t looked_at = 0;
  for (const RunLine& run : RunsBefore(log, id)) {
    if (++looked_at > kRunsBack) break;
    if (std::none_of(trainings.begin(), trainings.end(), goes_on)) break;
    std::vector<RecordedTraining> before = TrainingsOf(work, run.id);
    if (before.empty()) continue;
    const Result<RunRecord> record = ReadRecord(work, run.id);
    if (!record.ok()) continue;
    for (RecordedTraining& training : trainings) {
      const std::string recipe = RecipeIn(now, training.stage);
      if (!goes_on(training) || recipe.empty() || RecipeIn(*record, training.stage) != recipe) continue;
      for (RecordedTraining& earlier : before)
        if (earlier.stage == training.stage) Prepend(std::move(earlier), training);
    }
  }
  return trainings;
}

}  // namespace

Result<std::string> WriteReport(const WorkDir& work, const RunLog& log, const std::string& id,
                                const WorkersRun* workers) {
  const std::string path = StrCat(work.run(id), "/", kRecordName);
  ASSIGN_OR_RETURN(const std::string lines, ReadWholeFile(path));
  Result<RunRecord> record = ParseRunRecord(lines);
  if (!record.ok()) return std::move(record).status().Annotate(path);
  if (!record->end) {
    LocalStore root(work.path());
    AddOutcome(log, root, *record);
    if (workers != nullptr) AddWorkers(*workers, *record);
    record->alive = workers != nullptr ? workers->at_work > 0 : WorkLock::IsHeld(work.path());
  }
  record->before = FindRunBefore(work, log, id, *record);
  record->trainings = FindTrainings(work, log, id, *record);
  LocalStore store(work.run(id));
  RETURN_IF_ERROR(WriteObject(store, kPageName, ReportPage(*record), Condition::ReplaceAny()).status());
  return StrCat(work.run(id), "/", kPageName);
}

}  // namespace pipeline
