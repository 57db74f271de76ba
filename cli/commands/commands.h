// The table of commands: maps a word to its function.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

/// Runs options.command, one of the words that ParseArgs knows, and returns the exit code.
int RunNamedCommand(const Options& options);

}  // namespace pipeline
