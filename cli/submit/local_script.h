// The script of the workers of a run on this machine.
#pragma once

#include <string>

#include "cli/submit/engine.h"

namespace pipeline {

/// Its exit code: 0, or the first other one with which a worker ended for good.
std::string LocalScript(const WorkerSet& set);

}  // namespace pipeline
