// Words of few characters, so that many texts are common to them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/unigram/counted_words.h"
#include "text/unigram/training_words.h"

namespace pipeline {

inline constexpr std::array<std::string_view, 8> kLetters = {"a", "b", "c", "か", "猫", "😀", "é", "한"};

/// Characters of 0 to `letters` - 1, the first ones more often.
inline std::string RandomWord(std::mt19937& random, std::size_t most_characters, std::size_t letters = 4) {
  std::string word;
  for (std::size_t left = 1 + random() % most_characters; left > 0; --left)
    word += kLetters[std::min(random() % letters, random() % letters)];
  return word;
}

inline CountedWords RandomWords(std::uint32_t seed, int words, std::size_t most_characters,
                                std::size_t letters = 4) {
  std::mt19937 random(seed);
  CountedWords counted;
  for (int at = 0; at < words; ++at) {
    const std::string word = RandomWord(random, most_characters, letters);
    counted.Add(word, 1 + random() % 9);
  }
  return counted;
}

/// Sorted by the bytes of the words.
inline std::vector<std::pair<std::string_view, std::uint64_t>> Sorted(const CountedWords& words) {
  auto all = words.All();
  std::sort(all.begin(), all.end());
  return all;
}

inline TrainingWords RandomTrainingWords(std::uint32_t seed, int words, std::size_t most_characters,
                                         std::size_t letters = 4) {
  return std::move(MakeTrainingWords(RandomWords(seed, words, most_characters, letters), {}, {})).value();
}

}  // namespace pipeline
