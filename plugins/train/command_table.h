// The words of the plugin's commands in one table, used for parsing and, by the program, for help, completion
// and the manual.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/command_entry.h"

namespace pipeline {

const std::vector<CommandEntry>& TrainCommands();

/// The command `name`, or its subcommand `below`; the process aborts if the table lacks it.
const CommandEntry& TrainCommandOf(std::string_view name, std::string_view below = {});

/// All flags of the command.
std::vector<std::string_view> FlagsOf(const CommandEntry& command);

/// "pipe trainer setup [--dir DIR] [--extra cpu|cuda|tpu] [--python PATH]"; for a command with subcommands,
/// the usage of each, separated by "; or ".
std::string UsageOf(const CommandEntry& command, std::string_view before = "pipe ");

}  // namespace pipeline
