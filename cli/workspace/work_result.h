// Adds the work results since the last plan to the log.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/workspace/workspace.h"

namespace pipeline {

/// Adds the work results at `work_package` to the log, and stores that location in the work directory.
/// kFailedPrecondition, and nothing is added, if a worker's output is missing here: the unit would be
/// offered again forever.
Status TakeBackFrom(Workspace& workspace, const std::string& work_package);

/// As TakeBackFrom, from the last location used by `pipe plan`; OK if there is none.
Status TakeBackAny(Workspace& workspace);

}  // namespace pipeline
