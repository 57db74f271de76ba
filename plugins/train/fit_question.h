// Whether a model fits: the question to the trainer, and answers that are kept for `run -n`. CONTRACT.md,
// section 9.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pipeline {

/// {"config", "seq_len", "vocab", "steps"} of a stage as plugins/ABI.md, section 12, has it, from the keys of
/// the stages that make its inputs. Members that these do not tell are absent.
Json FitQuestion(const Json& stage);

/// Where answers to a question are kept, below the working directory.
std::string FitAnswers(const Json& question);

/// The mark of figures that this program's trainer finds.
std::string FitMark();

/// For people, of a dry run: the kept answers, or the command that finds them.
std::vector<std::string> KeptFit(const Json& stage);

}  // namespace pipeline
