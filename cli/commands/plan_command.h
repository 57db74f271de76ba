// `pipe plan`: writes work packages for the units that can run now.
#pragma once

#include "cli/terminal/options.h"

namespace pipeline {

int PlanCommand(const Options& options);

}  // namespace pipeline
