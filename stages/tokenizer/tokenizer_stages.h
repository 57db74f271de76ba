// The stages that train a tokenizer and encode with it. Rules of each: stages/tokenizer/NAME.md.
#pragma once

#include <string>

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// `program`: path of `pipe`, started again as the training process.
StageType TrainTokenizerType(std::string program = "/proc/self/exe");

StageType EncodeType();

}  // namespace pipeline
