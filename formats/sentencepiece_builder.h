// Makes the model file of a new SentencePiece tokenizer of the type unigram. Format:
// formats/sentencepiece_model.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/sentencepiece_model.h"

namespace pipeline {

struct UnigramModelParts {
  SpecialIds ids = {};  // of the pieces <pad>, <s>, </s> and <unk>; unk is not -1
  std::vector<std::string> controls =
      {};  // control pieces; they get the lowest ids that are free, in this order
  std::vector<std::string> symbols = {};   // user-defined pieces; they get the next ones
  bool byte_fallback = false;              // the next 256 ids are bytes
  std::vector<SentencePiece> pieces = {};  // the trained ones, which follow
  double character_coverage = 1;           // these two are for people: how the pieces were found
  std::int64_t max_piece_length = 16;
  std::string normalizer = "identity";  // name of the rule
  std::string charsmap = {};            // of the rule; empty: no text is replaced
  SpacingRules spacing = {};            // without the suffix: no new model has it
};

/// kInternal: the parts are no model, because two pieces are equal or an id of `ids` leaves one without a
/// piece.
Result<SentencePieceModel> BuildUnigramModel(const UnigramModelParts& parts);

}  // namespace pipeline
