// `pipe cat`.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int CatCommand(const Options& options);

}  // namespace pipeline
