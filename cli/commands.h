// The table of commands: a word, and the function that carries it out.
#pragma once

#include "cli/options.h"

namespace pipeline {

/// Carries out options.command, one of the words that ParseArgs knows, and gives the exit code.
int RunNamedCommand(const Options& options);

}  // namespace pipeline
