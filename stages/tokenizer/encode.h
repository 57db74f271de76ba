// The stage that turns each line into the ids of a tokenizer. Rules: stages/tokenizer/encode.md.
#pragma once

#include "dag/pipeline_file/registry.h"

namespace pipeline {

StageType EncodeType();

}  // namespace pipeline
