// `pipe completion`: prints what completes the words in a shell.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command CompletionCommand();

}  // namespace pipeline
