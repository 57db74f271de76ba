// The commands of the program and their table.
#pragma once

#include <vector>

#include "cli/terminal/command.h"

namespace pipeline {

// Each command is defined in the source of its name: RunCommand in run_command.cc.
Command RunCommand();
Command RetryCommand();
Command PlanCommand();
Command WorkerCommand();
Command SubmitCommand();
Command StatusCommand();
Command ReportCommand();
Command RunsCommand();
Command ValidateCommand();
Command GraphCommand();
Command VerifyCommand();
Command CatCommand();
Command LsCommand();
Command CpCommand();
Command DoctorCommand();
Command StatsCommand();
Command CleanCommand();
Command PluginsCommand();
Command SchemaCommand();
Command ReferenceCommand();
Command CompletionCommand();
Command ManualCommand();
Command ProbeCommand();

/// In the order of `pipe --help`.
std::vector<Command> Commands();

/// Runs the command of `call`, or that of a plugin; returns the exit status.
int RunCall(const Call& call);

}  // namespace pipeline
