// The stage that sends records through a command of the user's. Rules: stages/lines/exec.md.
#pragma once

#include "dag/pipeline_file/registry.h"

namespace pipeline {

StageType ExecType();

}  // namespace pipeline
