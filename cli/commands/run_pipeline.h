// Runs a pipeline on this machine: `pipe run` and `pipe retry`.
#pragma once

#include "cli/commands/run_request.h"
#include "cli/terminal/command.h"

namespace pipeline {

/// Returns the exit status; all messages are printed.
int RunPipeline(const RunRequest& request, const Call& call);

}  // namespace pipeline
