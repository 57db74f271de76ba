// The table of commands.
#pragma once

#include <vector>

#include "cli/terminal/command.h"

namespace pipeline {

/// In the order of `pipe --help`.
std::vector<Command> Commands();

/// Runs the command of `call`, or that of a plugin; returns the exit status.
int RunCall(const Call& call);

}  // namespace pipeline
