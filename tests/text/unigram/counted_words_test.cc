#include "text/unigram/counted_words.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <string>

#include "tests/text/unigram/random_words.h"

namespace pipeline {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(CountedWordsTest, CountsAsAMapDoes) {
  std::mt19937 random(1);
  std::map<std::string, std::uint64_t> expected;
  CountedWords words;
  std::uint64_t total = 0;
  for (int at = 0; at < 50'000; ++at) {
    const std::string word = RandomWord(random, 7);
    const std::uint64_t count = random() % 3;
    if (count > 0) expected[word] += count;
    total += count;
    words.Add(word, count);
  }
  words.Add(std::string(200'000, 'x'));
  words.Add("");
  expected[""] = 1;
  expected[std::string(200'000, 'x')] = 1;
  EXPECT_EQ(words.total(), total + 2);
  EXPECT_EQ(words.distinct(), expected.size());
  const auto sorted = Sorted(words);
  EXPECT_EQ((std::map<std::string, std::uint64_t>(sorted.begin(), sorted.end())), expected);
  EXPECT_GT(words.memory(), 200'000u);
}

TEST(CountedWordsTest, WordsAreInTheOrderOfTheirFirstAdd) {
  CountedWords words;
  for (const std::string_view word : {"c", "a", "c", "b", "a"}) words.Add(word);
  std::string order;
  for (const auto& [word, count] : words.All()) order += word;
  EXPECT_EQ(order, "cab");
}

TEST(CountedWordsTest, TablesOfSeveralThreadsAddUp) {
  std::mt19937 random(2);
  CountedWords all, one, other;
  for (int at = 0; at < 10'000; ++at) {
    const std::string word = RandomWord(random, 7);
    all.Add(word);
    (random() % 2 == 0 ? one : other).Add(word);
  }
  other.Merge(one);
  EXPECT_EQ(Sorted(other), Sorted(all));
  EXPECT_EQ(other.total(), all.total());
}

TEST(CountedWordsTest, CountsStopAtTheLargestNumber) {
  CountedWords words;
  words.Add("a", kMost - 1);
  words.Add("a", 5);
  words.Add("b", 7);
  EXPECT_EQ(Sorted(words)[0].second, kMost);
  EXPECT_EQ(Sorted(words)[1].second, 7u);
  EXPECT_EQ(words.total(), kMost);
}

}  // namespace
}  // namespace pipeline
