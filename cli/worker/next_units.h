// `pipe worker --next`: takes units until the run has ended.
#pragma once

#include "cli/terminal/signals.h"
#include "cli/worker/worker_options.h"

namespace pipeline {

/// Returns the exit status: 0 if the run has ended well, 1 if it has failed, 75 to try again, else that of a
/// unit.
int RunNextUnits(const WorkerOptions& options, SignalWatch& signals);

}  // namespace pipeline
