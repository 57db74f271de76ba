// What a record says about the stages: how they stand in the plan when a run begins, and what the run log
// and the quarantine have of them when it ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/run_record.h"
#include "dag/plan.h"
#include "dag/run_log.h"
#include "spec/graph.h"
#include "storage/store.h"

namespace pipeline {

/// Inputs before readers. `directory` is where the record lies: links begin there.
std::vector<RecordedStage> StagesOf(const Graph& graph, const Plan& plan, const Facts& facts,
                                    const std::string& directory);

/// The machine, and the versions that have a say; `begin` keeps the rest.
void DescribeMachine(const Graph& graph, RecordedBegin& begin);

/// What manifests say of all that was counted on the way to what stands published, by stage: a run that made
/// nothing of it has no line of it in its plan.
std::map<std::string, RecordedCounts> StandingCounts(const Plan& plan, const Facts& facts);

/// `record` with `standing` where it says nothing of a stage's records.
void AddStanding(const std::map<std::string, RecordedCounts>& standing, RunRecord& record);

/// Fills `counts` and `examples` of `record` for its stages. What cannot be read is left out.
void AddOutcome(const RunLog& log, Store& work, RunRecord& record);

}  // namespace pipeline
