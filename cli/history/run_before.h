// The run before another one in a work directory, and what differs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run_record.h"
#include "dag/run_log.h"
#include "dag/work_dir.h"

namespace pipeline {

/// "clean: form: nfkc -> nfc", one line for each thing that has a say in what `now` makes; in the order of
/// the stages. Records that do not say how their stages are made differ in nothing but the stages.
std::vector<std::string> DifferencesOf(const RunRecord& before, const RunRecord& now);

/// The last run before `id` that left a record; absent where none did.
std::optional<RunBefore> FindRunBefore(const WorkDir& work, const RunLog& log, const std::string& id,
                                       const RunRecord& now);

}  // namespace pipeline
