// The commands that plugins add, and the help of the program, which lists them.
#pragma once

#include "cli/terminal/command.h"
#include "cli/terminal/command_table.h"

namespace pipeline {

/// Runs the words of `call` with the first plugin that has such a command. If none has: prints the
/// command of a plugin that was probably meant, or `call.otherwise`.
int RunPluginCommand(const Call& call);

/// `table`, and behind it the commands of all plugins that are found.
CommandTable WithPluginCommands(CommandTable table);

/// ParseArgs turns `help COMMAND` into `COMMAND --help`, so this command prints the help of the program
/// alone.
Command HelpCommand();

}  // namespace pipeline
