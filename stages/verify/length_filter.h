// Counts the lines that a trainer with a maximum length silently drops. Rules: stages/export/tfds/tfds.md,
// "Long lines".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "text/sentencepiece/sentencepiece_handle.h"

namespace pipeline {

/// A trainer's filter.
struct LengthFilter {
  /// Its tokenizer; null: the one beside the data set.
  std::shared_ptr<const SentencePieceEncoder> tokenizer;
  /// Its longest line in tokens, the end mark included; 0: the length that the data set was written for.
  std::size_t max_tokens = 0;
};

/// Lines and their tokens, each with its end mark.
struct LengthCounts {
  std::uint64_t lines = 0;
  std::uint64_t tokens = 0;
  std::uint64_t long_lines = 0;   // dropped by the filter
  std::uint64_t long_tokens = 0;  // of the long lines

  void Add(std::size_t line_tokens, std::size_t max_tokens) {
    ++lines;
    tokens += line_tokens;
    if (line_tokens <= max_tokens) return;
    ++long_lines;
    long_tokens += line_tokens;
  }
  LengthCounts& operator+=(const LengthCounts& other) {
    lines += other.lines, tokens += other.tokens;
    long_lines += other.long_lines, long_tokens += other.long_tokens;
    return *this;
  }
};

}  // namespace pipeline
