// The texts inside words, in one order: equal texts lie together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "text/unigram/training_words.h"

namespace pipeline {

/// Returns the positions of all characters in `words.symbols`, sorted by the text from there to the end of
/// the word, of which `depth` characters count; then by position. Nothing: stopped.
std::optional<std::vector<std::uint32_t>> SuffixOrder(const TrainingWords& words, std::uint32_t depth,
                                                      std::size_t threads, const std::stop_token& stop);

/// Number of equal characters from the positions `a` and `b` on, at most `depth`, before a word ends.
std::uint32_t CommonCharacters(const TrainingWords& words, std::uint32_t a, std::uint32_t b,
                               std::uint32_t depth);

}  // namespace pipeline
