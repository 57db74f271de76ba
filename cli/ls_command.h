// `pipe ls`: what lies at places and below them.
#pragma once

#include "cli/options.h"

namespace pipeline {

int LsCommand(const Options& options);

}  // namespace pipeline
