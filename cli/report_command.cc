#include "cli/report_command.h"

#include <cstdio>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "cli/exit_code.h"
#include "cli/history/run_before.h"
#include "cli/history/whole_training.h"
#include "cli/pipeline_loader.h"
#include "cli/report_page.h"
#include "cli/run_facts.h"
#include "cli/run_recorder.h"
#include "dag/lock.h"
#include "dag/log_file.h"
#include "storage/local_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kPageName = "report.html";

/// The last run that left a record; empty where none did.
std::string LastRecorded(const WorkDir& work, const RunLog& log) {
  const std::vector<RunLine> runs = log.Runs();
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    LocalStore store(work.run(run->id));
    const Result<std::optional<ObjectInfo>> record = store.Stat(kRecordName);
    if (record.ok() && *record) return run->id;
  }
  return {};
}

}  // namespace

Result<std::string> WriteReport(const WorkDir& work, const RunLog& log, const std::string& id) {
  const std::string path = StrCat(work.run(id), "/", kRecordName);
  ASSIGN_OR_RETURN(const std::string lines, ReadWholeFile(path));
  Result<RunRecord> record = ParseRunRecord(lines);
  if (!record.ok()) return std::move(record).status().Annotate(path);
  if (!record->end) {
    LocalStore root(work.path());
    const std::map<std::string, RecordedCounts> stood = std::exchange(record->counts, {});
    AddOutcome(log, root, *record);
    AddExisting(stood, *record);
    record->alive = WorkLock::IsHeld(work.path());
  }
  record->before = FindRunBefore(work, log, id, *record);
  record->trainings = FindTrainings(work, log, id, *record);
  LocalStore store(work.run(id));
  RETURN_IF_ERROR(WriteObject(store, kPageName, ReportPage(*record), Condition::ReplaceAny()).status());
  return StrCat(work.run(id), "/", kPageName);
}

int ReportCommand(const Options& options) {
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options);
  if (!loaded) return kExitRefused;
  const WorkDir work(WorkPath(options, loaded->spec));
  const std::unique_ptr<RunLog> log = LoadRunLog(work);
  if (!log) return kExitRefused;
  const std::string id = LastRecorded(work, *log);
  if (id.empty()) {
    LogError(StrCat(work.path(), ": no run left a record here; `pipe run ", options.file, "` begins one"));
    return kExitRefused;
  }
  const Result<std::string> page = WriteReport(work, *log, id);
  if (!page.ok()) {
    LogError(page.status().message());
    return kExitFailed;
  }
  std::printf("%s\n", page->c_str());
  return kExitDone;
}

}  // namespace pipeline
