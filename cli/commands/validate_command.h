// `pipe validate`: prints the mistakes of a pipeline file.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command ValidateCommand();

}  // namespace pipeline
