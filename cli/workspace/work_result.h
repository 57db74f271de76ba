// Adds the work results since the last plan to the log.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/workspace/workspace.h"
#include "dag/package/work_package.h"
#include "dag/package/work_results.h"

namespace pipeline {

/// Detail of a failure: a finished unit has no output here.
struct OutputIsMissing final : StatusDetail {};

/// Adds the work results at `work_package` to the log and to the history of the run `run` there, and stores
/// that location in the work directory. The caller removes them (RemoveResults) once there is another plan.
/// kFailedPrecondition with OutputIsMissing, and nothing is added, if a worker's output is missing here: the
/// unit would be offered again forever.
Result<TakenResults> TakeResultsFrom(Workspace& workspace, const std::string& work_package,
                                     const std::string& run);

/// Returns the last location used by `pipe plan`. `work` is rooted at the work directory. Absent: there is
/// none.
Result<std::optional<std::string>> PackageOf(Store& work);

/// Adds the work results at the last location used by `pipe plan` to the log, and removes them; OK if there
/// is none.
Status TakeBackAny(Workspace& workspace);

}  // namespace pipeline
