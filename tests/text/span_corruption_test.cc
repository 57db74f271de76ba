#include "text/span_corruption.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "text/utf8.h"

namespace pipeline {
namespace {

std::vector<std::uint32_t> EndsOfWords(std::string_view text) {
  std::vector<std::uint32_t> ends;
  WordEnds(text, ends);
  return UnitEnds(text, ends);
}

std::string Line(std::mt19937& random, std::size_t words) {
  static const std::vector<std::string> kWords = {"a",    "the", "party", "猫",
                                                  "はい", "é",   "1999",  "\"quoted\""};
  std::string line(random() % 8 == 0 ? 2 : 0, ' ');
  for (std::size_t word = 0; word < words; ++word) {
    if (word > 0) line.append(1 + (random() % 10 == 0 ? 1 : 0), ' ');
    line += kWords[random() % kWords.size()];
  }
  return line + std::string(random() % 8 == 0 ? 1 : 0, ' ');
}

std::size_t Sentinels(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(kSentinelMark); at != std::string_view::npos;
       at = text.find(kSentinelMark, at + 1))
    ++count;
  return count;
}

TEST(SpanCorruptionTest, SourceAndTargetTogetherAreTheLine) {
  std::mt19937 random(1);
  const SpanCorruption corruption({0.15, 3, 64});
  for (int round = 0; round < 3000; ++round) {
    const std::string line = Line(random, 2 + random() % 300);
    std::string joined;
    for (const SpanPair& pair : corruption.Pairs(line, EndsOfWords(line), random())) {
      const auto text = JoinSpans(pair.source, pair.target);
      ASSERT_TRUE(text) << pair.source << "\n" << pair.target;
      joined += *text;
      const std::size_t sentinels = Sentinels(pair.source);
      EXPECT_GE(sentinels, 1u);
      EXPECT_LE(sentinels, kMostSentinels);
      EXPECT_EQ(Sentinels(pair.target), sentinels);
      EXPECT_TRUE(pair.target.starts_with("<extra_id_0> "));
      std::string apart = pair.source;  // sentinels may touch the words around them
      for (std::size_t at = apart.find('<'); at != std::string::npos; at = apart.find('<', at + 2))
        apart.insert(at, " ");
      EXPECT_LE(EndsOfWords(apart).size() + 1, 64u);
    }
    ASSERT_EQ(joined, line);
  }
}

TEST(SpanCorruptionTest, TakesTheShareOfUnitsThatIsAsked) {
  std::mt19937 random(2);
  const SpanCorruption corruption({0.15, 3, 512});
  double units = 0, taken = 0, spans = 0, lines = 0, variance = 0;
  for (int round = 0; round < 4000; ++round, ++lines) {
    const std::string line = Line(random, 20 + random() % 200);
    const std::size_t length = EndsOfWords(line).size();
    for (const SpanPair& pair : corruption.Pairs(line, EndsOfWords(line), random())) {
      const double sentinels = static_cast<double>(Sentinels(pair.target));
      taken += static_cast<double>(EndsOfWords(pair.target).size()) - sentinels;
      spans += sentinels;
    }
    units += static_cast<double>(length);
    variance += 1.0 / 12;  // of rounding to a whole number of units
  }
  EXPECT_LT(std::abs(taken - 0.15 * units), 3 * std::sqrt(variance));
  EXPECT_NEAR(taken / spans, 3, 0.1);
}

TEST(SpanCorruptionTest, EachWayToPlaceTheSpansIsAsLikely) {
  const std::string line = "a b c d e f g h i j";
  const SpanCorruption corruption({0.3, 1.5, 512});  // three units in two spans: 28 * 2 ways
  std::map<std::string, double> found;
  constexpr int kRounds = 24'000;
  for (int round = 0; round < kRounds; ++round)
    ++found[corruption.Pairs(line, EndsOfWords(line), static_cast<std::uint64_t>(round))[0].source];
  EXPECT_EQ(found.size(), 56u);
  for (const auto& [source, count] : found)
    EXPECT_NEAR(count, kRounds / 56.0, 4 * std::sqrt(kRounds / 56.0)) << source;
}

TEST(SpanCorruptionTest, TheExampleOfThePage) {
  EXPECT_EQ(JoinSpans("Thank you <extra_id_0> me to your party <extra_id_1> week.",
                      "<extra_id_0> for inviting <extra_id_1> last"),
            "Thank you for inviting me to your party last week.");
  EXPECT_EQ(
      JoinSpans("吾輩<extra_id_0>である。名前は<extra_id_1>ない。", "<extra_id_0> は猫 <extra_id_1> まだ"),
      "吾輩は猫である。名前はまだない。");
}

TEST(SpanCorruptionTest, WhatIsNoPairIsNotJoined) {
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"a", ""},
           {"a", "<extra_id_0> b"},
           {"a <extra_id_0>", ""},
           {"a <extra_id_0>", "<extra_id_1> b"},
           {"a <extra_id_1>", "<extra_id_1> b"},
           {"a <extra_id_0>", "<extra_id_0>b"},
           {"a <extra_id_0>", "<extra_id_0> b <extra_id_1> c"},
           {"a <extra_id_0> <extra_id_1>", "<extra_id_0> b<extra_id_1> c"},
           {"a <extra_id_0> <extra_id_0>", "<extra_id_0> b <extra_id_0> c"}})
    EXPECT_FALSE(JoinSpans(source, target)) << source << " | " << target;
}

TEST(SpanCorruptionTest, UnitsEndBetweenCharactersAndHoldOne) {
  const std::string text = " 猫 は  x ";
  std::vector<std::uint32_t> every(text.size());
  std::iota(every.begin(), every.end(), 1);
  EXPECT_EQ(UnitEnds(text, every), (std::vector<std::uint32_t>{4, 8, 12}));
  EXPECT_EQ(UnitEnds("   ", std::vector<std::uint32_t>{1, 2, 3}), std::vector<std::uint32_t>());
  EXPECT_EQ(UnitEnds("", {}), std::vector<std::uint32_t>());
  EXPECT_EQ(UnitEnds("ab", std::vector<std::uint32_t>{1, 1, 1}), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(UnitEnds("ab", std::vector<std::uint32_t>{9}), std::vector<std::uint32_t>{2});
}

TEST(SpanCorruptionTest, TheSameKeyGivesTheSamePair) {
  const std::string line = "one two three four five six seven eight nine ten eleven twelve";
  const SpanCorruption corruption({0.3, 2, 512});
  const auto pair = [&](std::uint64_t key) { return corruption.Pairs(line, EndsOfWords(line), key)[0]; };
  EXPECT_EQ(pair(7).source, "one <extra_id_0> four five six seven <extra_id_1> ten eleven twelve");
  EXPECT_EQ(pair(7).source, pair(7).source);
  EXPECT_NE(pair(7).source, pair(8).source);
  EXPECT_TRUE(corruption.Pairs("word", EndsOfWords("word"), 1).empty());
}

TEST(SpanCorruptionTest, RulesThatNoTokenizerServesAreRefused) {
  EXPECT_TRUE(CheckSpanRules({}).ok());
  EXPECT_TRUE(CheckSpanRules({0.15, 3, 1700}).ok());
  for (const SpanRules& rules : {SpanRules{0, 3, 512}, SpanRules{0.6, 3, 512}, SpanRules{0.15, 0.5, 512},
                                 SpanRules{0.15, 3, 2}, SpanRules{0.15, 3, 4000}, SpanRules{0.5, 1, 512}})
    EXPECT_EQ(CheckSpanRules(rules).code(), Code::kInvalidArgument);
  EXPECT_NE(std::string(CheckSpanRules({0.15, 3, 4000}).message()).find("100"), std::string::npos);
}

}  // namespace
}  // namespace pipeline
