// The previous run in a work directory, and the differences to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/run_record.h"
#include "dag/books/run_log.h"
#include "dag/books/work_dir.h"

namespace pipeline {

/// "clean: form: nfkc -> nfc": one line per difference that affects the output of `now`, in the order of
/// the stages. For records without stage configurations, only the stages are compared.
std::vector<std::string> DifferencesOf(const RunRecord& before, const RunRecord& now);

/// The last run before `id` that left a record; absent: none.
std::optional<RunBefore> FindRunBefore(const WorkDir& work, const RunLog& log, const std::string& id,
                                       const RunRecord& now);

}  // namespace pipeline
