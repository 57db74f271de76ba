// The stage that sends records through a command of the user's. Rules: stages/lines/exec.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

StageType ExecType();

}  // namespace pipeline
