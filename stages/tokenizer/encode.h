// The stage that turns each line into the ids of a tokenizer. Rules: stages/tokenizer/encode.md.
#pragma once

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

StageType EncodeType();

}  // namespace pipeline
