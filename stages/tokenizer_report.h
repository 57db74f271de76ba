// How well a tokenizer cuts lines that it was not trained on.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

/// What a line that was kept aside says of any kind of tokenizer: lines, bytes, characters, tokens,
/// characters_per_token, unknown_rate (of tokens), examples.
class HeldReport {
 public:
  HeldReport(std::function<std::string_view(std::uint32_t id)> piece_of,
             std::function<bool(std::uint32_t id)> is_unknown)
      : piece_of_(std::move(piece_of)), is_unknown_(std::move(is_unknown)) {}
  void Add(std::string_view line, std::span<const std::uint32_t> ids);
  Json Finish() const;
  std::uint64_t tokens() const { return tokens_; }

 private:
  const std::function<std::string_view(std::uint32_t id)> piece_of_;
  const std::function<bool(std::uint32_t id)> is_unknown_;
  std::uint64_t lines_ = 0, bytes_ = 0, characters_ = 0, tokens_ = 0, unknown_ = 0;
  Json examples_ = Json::Array{};
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
