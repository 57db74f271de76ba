// The `--help` text of the program and of a plugin's command, in the format that CLI11 uses for the program's
// own commands.
#pragma once

#include <string>

#include "cli/terminal/command_table.h"

namespace pipeline {

/// `called`: the words before its name, "pipe " or "pipe trainer ".
std::string CommandHelp(const CommandEntry& command, const std::string& called);

/// The `--help` text of the program: all commands of `table`.
std::string ProgramHelp(const CommandTable& table);

}  // namespace pipeline
