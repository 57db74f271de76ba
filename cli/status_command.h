// `pipe status`.
#pragma once

#include "cli/options.h"

namespace pipeline {

int StatusCommand(const Options& options);

}  // namespace pipeline
