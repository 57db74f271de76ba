// The record of a run by workers: it begins with the first plan, and gets what the workers did when the run
// has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/report/run_record.h"
#include "cli/workspace/books.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/workspace.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"
#include "dag/package/package_view.h"
#include "dag/package/work_history.h"
#include "dag/run/executor.h"
#include "storage/store.h"

namespace pipeline {

struct WorkersRun {
  std::string id;  // WorkPackage::run, and its directory below runs/
  WorkHistory history;
  std::optional<RunEnd> end;  // absent: it goes on
  bool replaced = false;      // another plan has replaced it before its end
  std::size_t at_work = 0;  // leases of units that run, and of planning; those of dead workers are among them
  std::int64_t seen = 0;    // when this was read, by the clock of this machine, in milliseconds since 1970
};

/// Returns the run of the work package at `package`. Absent: there is no plan, or one of an earlier version.
/// `before`: an earlier look at it; null: there was none.
Result<std::optional<WorkersRun>> ReadWorkersRun(Store& package, const PackageView* before,
                                                 const std::stop_token& stop);
/// Does the same with the work package that the work directory or home `work` names.
Result<std::optional<WorkersRun>> FindWorkersRun(Store& work, const std::stop_token& stop);

/// Returns the run by workers of a work directory or home. Absent: there is none, or it cannot be read, which
/// is reported.
std::optional<WorkersRun> WorkersRunOf(const Books& books);

/// Returns the runs of the log in their order, and among them, by its start, the run by workers if nobody has
/// written it there: a `pipe submit` that sees the end does. Writes nothing. `workers`: null: there is none.
std::vector<RunLine> RunsWith(const WorkersRun* workers, const Books& books);

/// Begins the record of `line`, a run that is planned now. It is only for people: a failure is a warning.
void BeginWorkersRun(Workspace& workspace, const RunLine& line, const LoadedPipeline& loaded,
                     const Plan& plan, const Snapshot& snapshot, const RunOptions& options);

/// Outcome of a run that has not ended while no worker is at work. No file has it.
inline constexpr std::string_view kWaiting = "waiting";

/// Adds what the workers did to `record`, which has no end. A host whose clock is apart from that of the
/// planner has its times moved, all by the same amount, so that none is before the start or after `run.seen`.
void AddWorkers(const WorkersRun& run, RunRecord& record);

/// Ends the record of a run that has ended, and the run in the log, unless that was done before; writes the
/// page. Returns its path.
Result<std::string> EndWorkersRun(Workspace& workspace, const WorkersRun& run);

/// The effect of a plan that a person makes on the run before, if that has no end.
struct RunBeforePlan {
  bool replaced = false;      // the plan begins another run
  std::optional<RunEnd> end;  // the plan offers nothing: the end of the run; absent: it offers units
};
/// Ends the record of the run of the work package at `package`, as EndWorkersRun does, before the plan is
/// written there, and prints the path of the page. Does nothing if the record has an end, or if the run goes
/// on. The record is only for people: a failure is a warning.
void EndRunBefore(Workspace& workspace, Store& package, const RunBeforePlan& becomes,
                  const std::stop_token& stop);

}  // namespace pipeline
