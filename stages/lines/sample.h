// The stage that draws records until a number of bytes is full: stages/lines/sample.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

StageType SampleType();

}  // namespace pipeline
