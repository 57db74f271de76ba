// The words of a training, as numbers of the characters that become pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/unigram/counted_words.h"

namespace pipeline {

/// Ends each word. The characters have the numbers from 1 on, the most frequent first.
inline constexpr std::uint32_t kWordEnd = 0;

struct TrainingWords {
  std::vector<std::string> characters;  // by number; the first is empty
  std::vector<std::uint32_t> symbols;   // the words, each with kWordEnd behind it
  std::vector<std::uint32_t> begins;    // of each word in `symbols`, and one for the end of the last
  std::vector<std::uint64_t> counts;    // of each word

  std::size_t size() const { return counts.size(); }
  /// Number of characters in word `at`.
  std::uint32_t length(std::size_t at) const { return begins[at + 1] - begins[at] - 1; }
};

struct CharacterRules {
  double coverage = 1;                     // share of all characters that become pieces
  std::vector<std::string> required = {};  // characters that become pieces in any case
  std::vector<std::string> reserved = {};  // texts that belong to no word and cut it, such as special pieces
};

/// Cuts the words at all other characters and at reserved texts. Words are sorted by their bytes and differ;
/// their characters times their counts add up to less than 2^53: beyond that, all counts are halved until
/// they do. kResourceExhausted: more than 2^32 characters in distinct words. kCancelled: stopped.
Result<TrainingWords> MakeTrainingWords(const CountedWords& words, const CharacterRules& rules,
                                        const std::stop_token& stop);

}  // namespace pipeline
