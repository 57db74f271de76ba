// `pipe run` and `pipe retry`.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int RunCommand(const Options& options);

}  // namespace pipeline
