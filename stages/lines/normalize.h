// The stage that changes text: a Unicode normal form, then white space. Rules: stages/lines/normalize.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

StageType NormalizeType();

}  // namespace pipeline
