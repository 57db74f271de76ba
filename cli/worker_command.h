// `pipe worker`: one unit of a plan that was handed out.
#pragma once

#include "cli/options.h"

namespace pipeline {

int WorkerCommand(const Options& options);

}  // namespace pipeline
