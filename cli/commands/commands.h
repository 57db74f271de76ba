// The commands of the program and their table.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/command.h"

namespace pipeline {

// A command is defined in the source of its name, or with the commands that are like it: ManualCommand and
// HelpCommand in plugin_commands.cc.
Command RunCommand();
Command RetryCommand();
Command PlanCommand();
Command WorkerCommand();
Command SubmitCommand();
Command TpuCommand();
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
Command HelpCommand();
Command ProbeCommand();

/// In the order of `pipe --help`.
std::vector<Command> Commands();

/// Runs the command of `call`, or that of a plugin; returns the exit status.
int RunCall(const Call& call);

/// Returns the text of `pipe --version`, a line each: "pipe 0.2.0"; the commit that the program was built
/// from, "unknown" if it was built outside a clone; the ABI of plugins; the libraries whose version is a part
/// of recipes; other libraries that read what strangers made; the newest versions of the forms that are
/// written.
std::string VersionText();

/// Runs the words of `call` with the first plugin that has such a command. If none has: prints the
/// command of a plugin that was probably meant, or `call.otherwise`.
int RunPluginCommand(const Call& call);

}  // namespace pipeline
