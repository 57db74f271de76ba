// `pipe status`.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command StatusCommand();

}  // namespace pipeline
