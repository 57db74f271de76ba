// The stage that sends records through a command of the user's. Rules: stages/exec.md.
#pragma once

#include "dag/registry.h"

namespace pipeline {

StageType ExecType();

}  // namespace pipeline
