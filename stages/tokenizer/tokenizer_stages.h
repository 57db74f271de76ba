// The stages that train a tokenizer and encode with it. Rules of each: stages/tokenizer/NAME.md.
#pragma once

#include <string>
#include <string_view>

#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// `program`: path of `pipe`, started again as the training process.
StageType TrainTokenizerType(std::string program = "/proc/self/exe");

StageType EncodeType();

/// The key of the stages that have two engines: our own code, and the SentencePiece library.
inline constexpr std::string_view kEngineKey = "engine";

/// The value of the key for the library; the other value is "own".
inline constexpr std::string_view kLibraryEngine = "sentencepiece";

}  // namespace pipeline
