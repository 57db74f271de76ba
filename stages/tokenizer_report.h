// How well a tokenizer cuts lines that it was not trained on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "formats/sentencepiece_model.h"
#include "records/batch.h"

namespace pipeline {

/// Lines kept aside, with their morphemes where they have them.
struct HeldLines {
  BytesColumn text;
  U32ListColumn cuts;
};

/// lines, bytes, characters, tokens, characters_per_token, unknown_rate and byte_rate (of tokens),
/// lines_not_restored (decoded they are another text), lines_with_space_mark (U+2581, which comes back as a
/// space); of a model that changes text, normalizer: {lines_that_differ} with and without its charsmap;
/// examples.
Result<Json> MeasureTokenizer(const SentencePieceModel& model, const HeldLines& held);

/// Characters of `held` for each token; 0 where there is none.
Result<double> CharactersPerToken(const SentencePieceModel& model, const HeldLines& held);

/// Of its normal pieces, those that begin with U+2581, which only begins words.
double ShareOfWordInitialPieces(const SentencePieceModel& model);

}  // namespace pipeline
