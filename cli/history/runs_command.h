// `pipe runs`: what ran in a work directory.
#pragma once

#include "cli/options.h"

namespace pipeline {

int RunsCommand(const Options& options);

}  // namespace pipeline
