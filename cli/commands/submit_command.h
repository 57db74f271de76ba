// pipe submit: one run on many machines, by an engine.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command SubmitCommand();

}  // namespace pipeline
