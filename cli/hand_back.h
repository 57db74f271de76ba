// Adds the work results since the last plan to the log.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/workspace.h"

namespace pipeline {

/// Adds the work results at `hand_out` to the log, and stores that location in the work directory.
/// kFailedPrecondition, and nothing is added, if a worker's output is missing here: the unit would be
/// offered again forever.
Status TakeBackFrom(Workspace& place, const std::string& hand_out);

/// As TakeBackFrom, from the last location used by `pipe plan`; OK if there is none.
Status TakeBackAny(Workspace& place);

}  // namespace pipeline
