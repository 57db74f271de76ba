// What `--help` prints of a command that a plugin has, in the form that CLI11 gives those of the program.
#pragma once

#include <string>

#include "cli/help/command_table.h"

namespace pipeline {

/// `called`: what stands in front of its name, "pipe " or "pipe trainer ".
std::string CommandHelp(const CommandEntry& command, const std::string& called);

}  // namespace pipeline
