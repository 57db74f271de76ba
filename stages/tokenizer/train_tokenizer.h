// The stage that trains a SentencePiece tokenizer or a WordPiece vocabulary on its input lines. Rules:
// stages/tokenizer/train_tokenizer.md.
#pragma once

#include <string>

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// `program`: path of `pipe`, started again as the training process.
StageType TrainTokenizerType(std::string program = "/proc/self/exe");

}  // namespace pipeline
