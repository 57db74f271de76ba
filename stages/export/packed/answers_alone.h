// Weights by the key `answers_after`: in each document the ids behind a piece are scored, and no others.
#pragma once

#include <string_view>

#include "dag/pipeline_file/named_input.h"
#include "stages/export/packed/row_packer.h"

namespace pipeline {

inline constexpr std::string_view kAnswersAfterKey = "answers_after";

/// Refuses a piece that the tokenizer will not have, before it is trained. For StageType::check_promised.
Status CheckPromisedAnswers(const Json& config, const Promise& promise);

/// The rule of `answers_after`; without the key, rows have no weights. Reads the model of the tokenizer.
/// kFailedPrecondition: the piece is no user-defined symbol of it, so that text does not always give its id.
Result<WeightRule> ChooseAnswersAlone(const StageContext& context, const TokenizerFacts& facts);

}  // namespace pipeline
