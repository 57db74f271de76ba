// `pipe verify`.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int VerifyCommand(const Options& options);

}  // namespace pipeline
