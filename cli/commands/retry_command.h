// `pipe retry`: runs what failed.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command RetryCommand();

}  // namespace pipeline
