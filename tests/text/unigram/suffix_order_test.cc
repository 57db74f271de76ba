#include "text/unigram/suffix_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/text/unigram/random_words.h"

namespace pipeline {
namespace {

std::vector<std::uint32_t> TextFrom(const TrainingWords& words, std::uint32_t position, std::uint32_t depth) {
  std::vector<std::uint32_t> text;
  for (; text.size() < depth && words.symbols[position] != kWordEnd; ++position)
    text.push_back(words.symbols[position]);
  return text;
}

TEST(SuffixOrderTest, PositionsAreSortedByTheirTextToTheEndOfTheWord) {
  for (const std::uint32_t depth : {1U, 2U, 3U, 4U, 5U, 16U, 512U}) {
    const TrainingWords words = RandomTrainingWords(depth, 300, 12);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t position = 0; position < words.symbols.size(); ++position)
      if (words.symbols[position] != kWordEnd) expected.push_back(position);
    std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
      return TextFrom(words, a, depth) < TextFrom(words, b, depth);
    });
    EXPECT_EQ(SuffixOrder(words, depth, 1, {}), expected) << depth;
    EXPECT_EQ(SuffixOrder(words, depth, 3, {}), expected) << depth;
    for (std::size_t at = 1; at < expected.size(); ++at) {
      const auto one = TextFrom(words, expected[at - 1], depth), other = TextFrom(words, expected[at], depth);
      const auto differ = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first;
      ASSERT_EQ(CommonCharacters(words, expected[at - 1], expected[at], depth), differ - one.begin());
    }
  }
}

TEST(SuffixOrderTest, ManyTextsThatBeginWithOneCharacterAreMerged) {
  const TrainingWords words = RandomTrainingWords(5, 20'000, 30, 2);
  const auto order = SuffixOrder(words, 16, 2, {});
  ASSERT_TRUE(order);
  ASSERT_GT(order->size(), 40'000u);  // more than are sorted at once
  for (std::size_t at = 1; at < order->size(); ++at) {
    const auto one = TextFrom(words, (*order)[at - 1], 16), other = TextFrom(words, (*order)[at], 16);
    ASSERT_TRUE(one < other || (one == other && (*order)[at - 1] < (*order)[at])) << at;
  }
}

TEST(SuffixOrderTest, AStopEndsIt) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(SuffixOrder(RandomTrainingWords(1, 100, 5), 16, 2, stop.get_token()), std::nullopt);
}

}  // namespace
}  // namespace pipeline
