// `pipe worker --unit`, for tests: runs one unit without the queue.
#pragma once

#include <string>

#include "cli/terminal/signals.h"
#include "cli/worker/worker_options.h"

namespace pipeline {

/// Returns the exit status of the unit. If the plan does not offer `unit`: the unit runs if it may run now.
int RunGivenUnit(const WorkerOptions& options, const std::string& unit, SignalWatch& signals);

}  // namespace pipeline
