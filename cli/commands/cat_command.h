// `pipe cat`.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command CatCommand();

}  // namespace pipeline
