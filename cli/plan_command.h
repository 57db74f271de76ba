// `pipe plan`: hands out what can run now.
#pragma once

#include "cli/options.h"

namespace pipeline {

int PlanCommand(const Options& options);

}  // namespace pipeline
