// `pipe ls`: lists locations and everything below them.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command LsCommand();

}  // namespace pipeline
