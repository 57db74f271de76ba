#include "cli/report/write_report.h"

#include <map>
#include <utility>

#include "base/str.h"
#include "base/whole_file.h"
#include "cli/report/report_page.h"
#include "cli/report/run_before.h"
#include "cli/report/run_facts.h"
#include "cli/report/run_record.h"
#include "cli/report/run_recorder.h"
#include "cli/report/whole_training.h"
#include "cli/report/workers_run.h"
#include "dag/books/lock.h"
#include "dag/books/log_file.h"
#include "storage/local_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kPageName = "report.html";

}  // namespace

Result<std::string> WriteReport(const WorkDir& work, const RunLog& log, const std::string& id,
                                const WorkersRun* workers) {
  const std::string path = StrCat(work.run(id), "/", kRecordName);
  ASSIGN_OR_RETURN(const std::string lines, ReadWholeFile(path));
  Result<RunRecord> record = ParseRunRecord(lines);
  if (!record.ok()) return std::move(record).status().Annotate(path);
  if (!record->end) {
    LocalStore root(work.path());
    const std::map<std::string, RecordedCounts> existing = std::exchange(record->counts, {});
    AddOutcome(log, root, *record);
    AddExisting(existing, *record);
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
