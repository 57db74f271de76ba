// The stage that sends records through a command of the user's. Rules: stages/exec.md.
#pragma once

#include "spec/registry.h"

namespace pipeline {

StageType ExecType();

}  // namespace pipeline
