// `pipe ls`: lists locations and everything below them.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int LsCommand(const Options& options);

}  // namespace pipeline
