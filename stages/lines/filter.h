// The stage that drops records by rules about their characters. Rules: stages/lines/filter.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

StageType FilterType();

}  // namespace pipeline
