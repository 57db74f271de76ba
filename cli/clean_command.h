// `pipe clean`.
#pragma once

#include "cli/options.h"

namespace pipeline {

int CleanCommand(const Options& options);

}  // namespace pipeline
