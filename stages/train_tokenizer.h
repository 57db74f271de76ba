// The stage that trains a SentencePiece tokenizer, or a WordPiece vocabulary, on the lines that come in.
// Rules: stages/train_tokenizer.md.
#pragma once

#include <string>

#include "spec/registry.h"

namespace pipeline {

/// `program` is the path of `pipe`, which is run once more for the training itself.
StageType TrainTokenizerType(std::string program = "/proc/self/exe");

}  // namespace pipeline
