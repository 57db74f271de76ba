// `pipe worker`: makes one work package of a plan.
#pragma once

#include "cli/terminal/command.h"

namespace pipeline {

Command WorkerCommand();

}  // namespace pipeline
