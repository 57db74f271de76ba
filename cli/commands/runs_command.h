// `pipe runs`: lists the runs of a work directory.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int RunsCommand(const Options& options);

}  // namespace pipeline
