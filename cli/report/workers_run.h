// The record of a run by workers: it begins with the first plan, and gets what the workers did when the run
// has ended.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "cli/report/run_record.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/workspace.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"
#include "dag/executor.h"
#include "dag/package/package_view.h"
#include "dag/package/work_history.h"
#include "storage/store.h"

namespace pipeline {

struct WorkersRun {
  std::string id;  // WorkPackage::run, and its directory below runs/
  WorkHistory history;
  std::optional<RunEnd> end;  // absent: it goes on
};

/// Returns the run of the work package at `package`. Absent: there is no plan, or one of an earlier version.
Result<std::optional<WorkersRun>> ReadWorkersRun(Store& package, const std::stop_token& stop);
/// Does the same with the work package that the work directory or home `work` names.
Result<std::optional<WorkersRun>> FindWorkersRun(Store& work, const std::stop_token& stop);

/// Begins the record of `line`, a run that is planned now. It is only for people: a failure is a warning.
void BeginWorkersRun(Workspace& workspace, const RunLine& line, const LoadedPipeline& loaded,
                     const Plan& plan, const Snapshot& snapshot, const RunOptions& options);
/// Returns whether the record of the run `id` is here and has no end.
bool IsRecordOpen(const WorkDir& work, const std::string& id);

/// Adds what the workers did to `record`, which has no end.
void AddWorkers(const WorkersRun& run, RunRecord& record);

/// Ends the record of a run that has ended, and the run in the log, unless that was done before; writes the
/// page. Returns its path.
Result<std::string> EndWorkersRun(Workspace& workspace, const WorkersRun& run);

}  // namespace pipeline
