// `pipe clean`.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int CleanCommand(const Options& options);

}  // namespace pipeline
