// `pipe worker`: takes units until the run has ended, or runs one.
#pragma once

#include <string>

#include "cli/terminal/signals.h"
#include "cli/worker/opened_package.h"

namespace pipeline {

/// Takes units. Returns the exit status: 0 if the run has ended well, 1 if it has failed, 75 to try again,
/// else that of a unit.
int RunNextUnits(const WorkerOptions& options, SignalWatch& signals);

/// For tests: runs one unit without the queue. Returns the exit status of the unit. If the plan does not
/// offer `unit`: the unit runs if it may run now.
int RunGivenUnit(const WorkerOptions& options, const std::string& unit, SignalWatch& signals);

}  // namespace pipeline
