// The question whether a model fits, for the trainer, and the stored answers, for `run -n`. CONTRACT.md,
// section 9.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace pipeline {

/// {"config", "seq_len", "vocab", "steps"} of a stage in the form of plugins/ABI.md, section 12, taken from
/// its keys and those of its input stages. Unknown members are absent.
Json FitQuestion(const Json& stage);

/// The file with the stored answers to a question, below the working directory.
std::string FitAnswers(const Json& question);

/// Identifies the trainer version that computed an answer.
std::string FitMark();

/// Lines for a dry run: the stored answers, or the command that computes them.
std::vector<std::string> KeptFit(const Json& stage);

}  // namespace pipeline
