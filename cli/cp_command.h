// `pipe cp`: an object, or all below a place, from any store to any other.
#pragma once

#include "cli/options.h"

namespace pipeline {

int CpCommand(const Options& options);

}  // namespace pipeline
