// The first pieces of a training: texts that words have in common, and whole words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "text/unigram/training_words.h"

namespace pipeline {

/// A text of at least two characters, with its occurrences: order[begin] to order[end - 1] of the suffix
/// order.
struct SeedPiece {
  std::uint32_t begin, end;
  std::uint32_t length;  // in characters
  std::uint64_t count;   // with the counts of the words
};

struct SeedRules {
  std::size_t most = 1'000'000;
  std::uint32_t max_length = 16;  // in characters
  std::uint64_t least_count = 2;
};

/// Returns the seeds with the greatest count times length, the greatest first; the suffix order decides
/// between equals. A text that is always continued by the same character is no seed, nor one that always
/// follows the same character: the longer text is. A word is a seed as a whole if it occurs nowhere else.
/// Nothing: stopped.
std::optional<std::vector<SeedPiece>> FindSeeds(const TrainingWords& words,
                                                const std::vector<std::uint32_t>& order,
                                                const SeedRules& rules, const std::stop_token& stop);

}  // namespace pipeline
