// `pipe cp`: copies one object, or everything below a location, between any two stores.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int CpCommand(const Options& options);

}  // namespace pipeline
