// Runs a pipeline on this machine: `pipe run` and `pipe retry`.
#pragma once

#include "cli/commands/run_request.h"
#include "cli/terminal/command.h"

namespace pipeline {

/// Runs, or with `dry_run` only plans, the pipeline of `request`, and prints all messages. Returns the exit
/// status (cli/terminal/exit_code.h). Call it from the main thread, before other threads exist: it handles
/// the signals of the program. `call`: its words are kept in the record of the run, without secrets.
int RunPipeline(const RunRequest& request, const Call& call);

}  // namespace pipeline
