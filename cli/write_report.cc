#include "cli/write_report.h"

#include <map>
#include <utility>

#include "base/str.h"
#include "cli/history/run_before.h"
#include "cli/history/whole_training.h"
#include "cli/report_page.h"
#include "cli/run_facts.h"
#include "cli/run_record.h"
#include "cli/run_recorder.h"
#include "dag/lock.h"
#include "dag/log_file.h"
#include "storage/local_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kPageName = "report.html";

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

}  // namespace pipeline
