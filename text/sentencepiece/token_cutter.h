// Cuts lines into parts with a limited number of tokens. Rules: stages/export/tfds/tfds.md, "Long lines".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

/// Holds the memory of one thread. The caller owns `encoder`, which must outlive this object.
class TokenCutter {
 public:
  /// `max_tokens` counts the end mark that a trainer adds to each line.
  TokenCutter(const SentencePieceEncoder& encoder, std::size_t max_tokens)
      : encoder_(encoder), max_tokens_(max_tokens) {}

  /// Replaces `parts` by the parts of `line` (valid UTF-8), in order, without white space at their ends; a
  /// line that fits is one unchanged part. `cuts`: ends of the morphemes; empty: unknown. Returns the
  /// number of parts that do not fit: single characters with too many tokens.
  Result<std::size_t> Cut(std::string_view line, std::span<const std::uint32_t> cuts,
                          std::vector<std::string_view>& parts);

 private:
  Result<std::size_t> Count(std::string_view text);
  Result<bool> Fits(std::size_t begin, std::size_t end);
  std::size_t Estimate(std::size_t begin) const;
  Result<std::size_t> LastThatFits(std::size_t begin, std::size_t guess, std::span<const std::uint32_t> ends);
  Result<std::size_t> InSentence(std::size_t begin, std::size_t end, std::span<const std::uint32_t> cuts);

  const SentencePieceEncoder& encoder_;
  const std::size_t max_tokens_;
  SentencePieceEncoder::Scratch scratch_;
  std::string_view line_;
  std::vector<std::uint32_t> line_ends_;  // of the ids of the whole line
  std::vector<std::uint32_t> sentences_;
  std::vector<std::uint32_t> ids_, ends_;
  std::vector<std::uint32_t> candidates_;
};

}  // namespace pipeline
