// `pipe graph`: draws the stages of a pipeline file.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command GraphCommand();

}  // namespace pipeline
