// `pipe worker`: makes one work package of a plan.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int WorkerCommand(const Options& options);

}  // namespace pipeline
