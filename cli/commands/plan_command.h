// `pipe plan`: writes work packages for the units that can run now.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command PlanCommand();

}  // namespace pipeline
