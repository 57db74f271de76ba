// `pipe status`.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int StatusCommand(const Options& options);

}  // namespace pipeline
