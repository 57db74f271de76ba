// `pipe verify`.
#pragma once

#include "cli/options.h"

namespace pipeline {

int VerifyCommand(const Options& options);

}  // namespace pipeline
