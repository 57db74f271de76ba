// `pipe manual`: prints the manual page.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command ManualCommand();

}  // namespace pipeline
