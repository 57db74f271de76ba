#include "text/unigram/seed_pieces.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tests/text/unigram/random_words.h"
#include "text/unigram/suffix_order.h"

namespace pipeline {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

std::string TextAt(const TrainingWords& words, std::uint32_t position, std::uint32_t length) {
  std::string text;
  for (std::uint32_t at = position; at < position + length; ++at) text += words.characters[words.symbols[at]];
  return text;
}

/// The seeds with their counts, which must not increase by score.
Counts SeedsOf(const TrainingWords& words, const SeedRules& rules) {
  const auto order = *SuffixOrder(words, rules.max_length, 1, {});
  Counts seeds;
  std::uint64_t last = UINT64_MAX;
  const auto found = *FindSeeds(words, order, rules, {});
  for (const SeedPiece& seed : found) {
    EXPECT_LE(seed.count * seed.length, last);
    last = seed.count * seed.length;
    const std::string text = TextAt(words, order[seed.begin], seed.length);
    EXPECT_TRUE(seeds.emplace(text, seed.count).second) << text << " comes twice";
    for (std::uint32_t at = seed.begin; at < seed.end; ++at)
      EXPECT_EQ(TextAt(words, order[at], seed.length), text);
  }
  return seeds;
}

Counts SeedsOf(const Counts& counts, const SeedRules& rules) {
  CountedWords words;
  for (const auto& [word, count] : counts) words.Add(word, count);
  return SeedsOf(*MakeTrainingWords(words, {}, {}), rules);
}

/// Counts all texts of the words, and looks at what is around each.
Counts SeedsByHand(const TrainingWords& words, const SeedRules& rules) {
  struct Found {
    std::uint64_t count = 0;
    std::set<std::uint32_t> before, behind;
    bool at_front = false;
    std::uint32_t length = 0;
    int occurrences = 0;
    bool is_word = false;
  };
  std::map<std::string, Found> all;
  for (std::size_t word = 0; word < words.size(); ++word) {
    const std::uint32_t first = words.begins[word], end = words.begins[word + 1] - 1;
    for (std::uint32_t begin = first; begin < end; ++begin)
      for (std::uint32_t length = 2; length <= rules.max_length && begin + length <= end; ++length) {
        Found& found = all[TextAt(words, begin, length)];
        found.count += words.counts[word];
        found.length = length;
        ++found.occurrences;
        found.before.insert(begin == first ? UINT32_MAX : words.symbols[begin - 1]);
        found.at_front |= begin == first;
        found.behind.insert(words.symbols[begin + length]);
        found.is_word |= begin == first && begin + length == end;
      }
  }
  Counts seeds;
  for (const auto& [text, found] : all) {
    if (found.count < rules.least_count) continue;
    const bool is_longest = found.length == rules.max_length;
    const bool left = found.at_front || found.before.size() > 1 || is_longest;
    const bool ends_word = found.behind.contains(kWordEnd);
    const bool right = found.behind.size() > 1 || ends_word || is_longest;
    const bool common = found.occurrences > 1 && left && right;
    if (common || (found.occurrences == 1 && found.is_word)) seeds.emplace(text, found.count);
  }
  return seeds;
}

TEST(SeedPiecesTest, TheLongestTextThatWordsShareIsASeed) {
  EXPECT_EQ(SeedsOf({{"xabc", 1}, {"yabc", 1}, {"word", 5}, {"once", 1}}, {}),
            (Counts{{"abc", 2}, {"word", 5}}));
}

TEST(SeedPiecesTest, AWordInsideOthersIsASeed) {
  EXPECT_EQ(SeedsOf({{"ab", 4}, {"abc", 1}, {"abd", 1}}, {}), (Counts{{"ab", 6}}));
}

TEST(SeedPiecesTest, TheGreatestCountTimesLengthStays) {
  EXPECT_EQ(SeedsOf({{"abcdef", 10}, {"gh", 25}, {"ij", 31}}, {.most = 2}),
            (Counts{{"abcdef", 10}, {"ij", 31}}));
}

TEST(SeedPiecesTest, SeedsAreThoseFoundByCountingAllTexts) {
  for (std::uint32_t run = 0; run < 40; ++run) {
    const SeedRules rules = {.max_length = 2 + run % 7, .least_count = 1 + run % 4};
    const TrainingWords words =
        RandomTrainingWords(run, 30 + static_cast<int>(run) * 10, 3 + run % 9, 2 + run % 4);
    EXPECT_EQ(SeedsOf(words, rules), SeedsByHand(words, rules)) << run;
  }
}

TEST(SeedPiecesTest, AStopEndsIt) {
  const TrainingWords words = RandomTrainingWords(1, 100, 5);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(FindSeeds(words, *SuffixOrder(words, 16, 1, {}), {}, stop.get_token()));
}

}  // namespace
}  // namespace pipeline
