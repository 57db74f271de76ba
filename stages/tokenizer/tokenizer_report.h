// Measures how well a tokenizer encodes lines that it was not trained on.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "dag/records/batch.h"
#include "formats/sentencepiece_model.h"

namespace pipeline {

/// Held-out lines, with their morphemes if they have any.
struct HeldLines {
  BytesColumn text;
  U32ListColumn cuts;
};

/// Measures for any kind of tokenizer, on held-out lines: lines, bytes, characters, tokens,
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

/// Returns lines, bytes, characters, tokens, characters_per_token, unknown_rate and byte_rate (of tokens),
/// lines_not_restored (decoding gives another text), lines_with_space_mark (U+2581, which is decoded as a
/// space), examples. If the model normalizes text, also normalizer: {lines_that_differ}, the lines whose
/// ids differ with and without its charsmap.
Result<Json> MeasureTokenizer(const SentencePieceModel& model, const HeldLines& held);

/// Characters of `held` per token; 0: there are no tokens.
Result<double> CharactersPerToken(const SentencePieceModel& model, const HeldLines& held);

/// The share of normal pieces that begin with U+2581, which occurs only at the start of words.
double ShareOfWordInitialPieces(const SentencePieceModel& model);

}  // namespace pipeline
