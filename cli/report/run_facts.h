// The facts about stages in a run's record: their state in the plan when the run begins, and the counts
// from the run log and quarantine when it ends.
#pragma once

#include <string>
#include <string_view>

#include "cli/report/run_record.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/books/run_log.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"
#include "dag/run/executor.h"
#include "storage/store.h"

namespace pipeline {

/// "run", "copy", "up to date" or "not selected".
std::string_view StateText(const PlannedSegment& segment);

/// The beginning of the record of a run: this machine, the stages, and the counts of outputs that exist.
/// `directory`: of the record.
RunRecord DescribeRun(const RunLine& line, const LoadedPipeline& loaded, const Plan& plan,
                      const Snapshot& snapshot, const RunOptions& options, const std::string& directory);

/// Adds to `record` the counts of its stages, where the log has some, and examples of records that were set
/// aside. Skips unreadable parts.
void AddOutcome(const RunLog& log, Store& work, RunRecord& record);

}  // namespace pipeline
