// The facts about stages in a run's record: their state in the plan when the run begins, and the counts
// from the run log and quarantine when it ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/report/run_record.h"
#include "dag/books/run_log.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"
#include "storage/store.h"

namespace pipeline {

/// Inputs precede their readers. `directory`: of the record; links are relative to it.
std::vector<RecordedStage> StagesOf(const Graph& graph, const Plan& plan, const Snapshot& snapshot,
                                    const std::string& directory);

/// Fills in the machine and the library versions that affect results; other members of `begin` stay.
void DescribeMachine(const Graph& graph, RecordedBegin& begin);

/// The counts that manifests hold about existing publications, by stage. A run that made nothing for such a
/// publication has no lines about it in its plan.
std::map<std::string, RecordedCounts> ExistingCounts(const Plan& plan, const Snapshot& snapshot);

/// Adds `existing` to `record` for stages that have no counts there.
void AddExisting(const std::map<std::string, RecordedCounts>& existing, RunRecord& record);

/// Fills `counts` and `examples` of `record` for its stages; skips unreadable parts.
void AddOutcome(const RunLog& log, Store& work, RunRecord& record);

}  // namespace pipeline
