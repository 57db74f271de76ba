#include "cli/report/run_status.h"

#include <utility>

#include "cli/report/run_recorder.h"
#include "dag/books/work_dir.h"

namespace pipeline {

std::string RunStatus::Outcome() const {
  if (!line.outcome.empty()) return line.outcome;
  return runs ? "running" : "killed";
}

RunsStatus::RunsStatus(const Books& books)
    : books_(books),
      workers_(WorkersRunOf(books)),
      lines_(RunsWith(workers_ ? &*workers_ : nullptr, books)) {}

RunStatus RunsStatus::Look(const RunLine& line) const {
  const WorkDir& work = books_.directory;
  const WorkersRun* const workers = WorkersOf(line.id);
  RunStatus run;
  run.line = line;
  run.by_workers = workers != nullptr;
  const bool is_last = line.id == lines_.back().id;
  run.runs = line.outcome.empty() && (run.by_workers || (is_last && WorkLock::IsHeld(work.path())));
  if (Result<RunRecord> record = ReadRecord(work, line.id); record.ok()) {
    if (!record->end && workers != nullptr) AddWorkers(*workers, *record);
    record->alive = run.runs;
    run.record = std::make_shared<const RunRecord>(std::move(*record));
  }
  if (run.runs && !run.by_workers) run.now = ReadNow(work.run(line.id));
  return run;
}

const WorkersRun* RunsStatus::WorkersOf(const std::string& id) const {
  return workers_ && workers_->id == id ? &*workers_ : nullptr;
}

}  // namespace pipeline
