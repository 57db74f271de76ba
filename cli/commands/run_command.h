// `pipe run`: runs what is not done yet.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command RunCommand();

}  // namespace pipeline
