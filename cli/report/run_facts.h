// The facts about stages in a run's record: their state in the plan when the run begins, and the counts
// from the run log and quarantine when it ends.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
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

// Hides the secrets in the configuration of a run.

/// The values in `variables` (PipelineSpec::variables) that must stay hidden: those whose name suggests a
/// secret, and all that come from the environment.
std::vector<std::string> SecretsIn(const std::map<std::string, std::string>& variables);

/// Replaces with `***`: each of `secrets`, the user part and query of a URL, the value of NAME=VALUE if the
/// name suggests a secret, and the text after "Authorization:" or "Bearer".
std::string HiddenText(std::string_view text, const std::vector<std::string>& secrets);

/// As HiddenText for each text in `config`, and hides all values of keys whose name suggests a secret.
Json Hidden(const Json& config, const std::vector<std::string>& secrets);

}  // namespace pipeline
