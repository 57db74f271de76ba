// Makes a shell script that completes commands, options and their choices.
#pragma once

#include <string>

#include "cli/terminal/command_table.h"

namespace pipeline {

/// For `source <(pipe completion bash)`. Sources of the forms: bash(1), "Programmable Completion".
std::string BashCompletion(const CommandTable& table);
/// For `source <(pipe completion zsh)`, or as the file `_pipe` of a directory in fpath; zshcompsys(1).
std::string ZshCompletion(const CommandTable& table);
/// For `pipe completion fish | source`; complete(1) of fish.
std::string FishCompletion(const CommandTable& table);

}  // namespace pipeline
