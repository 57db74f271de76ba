// `pipe run` and `pipe retry`.
#pragma once

#include "cli/options.h"

namespace pipeline {

int RunCommand(const Options& options);

}  // namespace pipeline
