#include "text/unigram/training_words.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace pipeline {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

TrainingWords Made(const Counts& counts, const CharacterRules& rules = {}) {
  CountedWords words;
  for (const auto& [word, count] : counts) words.Add(word, count);
  Result<TrainingWords> made = MakeTrainingWords(words, rules, {});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

Counts TextsOf(const TrainingWords& words) {
  Counts texts;
  for (std::size_t word = 0; word < words.size(); ++word) {
    std::string text;
    for (std::uint32_t at = words.begins[word]; at + 1 < words.begins[word + 1]; ++at)
      text += words.characters[words.symbols[at]];
    EXPECT_EQ(words.symbols[words.begins[word + 1] - 1], kWordEnd);
    EXPECT_TRUE(texts.emplace(text, words.counts[word]).second) << text;
  }
  return texts;
}

TEST(TrainingWordsTest, FrequentCharactersHaveSmallNumbers) {
  const TrainingWords words = Made({{"か猫", 2}, {"ab", 1}, {"😀a", 4}});
  EXPECT_EQ(words.characters, (std::vector<std::string>{"", "a", "😀", "か", "猫", "b"}));
  EXPECT_EQ(TextsOf(words), (Counts{{"か猫", 2}, {"ab", 1}, {"😀a", 4}}));
}

TEST(TrainingWordsTest, RareCharactersCutWordsAndEqualPartsAreOne) {
  const TrainingWords words = Made({{"aXb", 3}, {"a", 20}, {"b", 20}, {"XY", 1}}, {.coverage = 0.9});
  EXPECT_EQ(words.characters, (std::vector<std::string>{"", "a", "b"}));
  EXPECT_EQ(TextsOf(words), (Counts{{"a", 23}, {"b", 23}}));
}

TEST(TrainingWordsTest, WholeCoverageLeavesNoCharacterOut) {
  Counts counts;
  for (char character = 'a'; character <= 'z'; ++character) counts[std::string(1, character)] = 1;
  counts["。"] = 1'000'000'000'000;
  EXPECT_EQ(TextsOf(Made(counts)), counts);
}

TEST(TrainingWordsTest, RequiredCharactersArePiecesThatNoWordNeeds) {
  const TrainingWords words = Made({{"aab", 9}}, {.coverage = 0.5, .required = {"\u2581", "b", ""}});
  EXPECT_EQ(words.characters, (std::vector<std::string>{"", "a", "b", "\u2581"}));
  EXPECT_EQ(TextsOf(words), (Counts{{"aab", 9}}));
}

TEST(TrainingWordsTest, ReservedTextsCutWordsTheLongestFirst) {
  const TrainingWords words =
      Made({{"a<x>b", 1}, {"<x>>c", 2}, {"<x", 4}, {"<x>", 8}}, {.reserved = {"<x>", "<x>>", ""}});
  EXPECT_EQ(TextsOf(words), (Counts{{"a", 1}, {"b", 1}, {"c", 2}, {"<x", 4}}));
}

TEST(TrainingWordsTest, CountsBeyondDoublePrecisionAreHalved) {
  const std::uint64_t half = std::uint64_t{1} << 63;
  const Counts texts = TextsOf(Made({{"aaa", half}, {"b", 3}}));
  EXPECT_EQ(texts, (Counts{{"aaa", std::uint64_t{1} << 51}, {"b", 1}}));
}

TEST(TrainingWordsTest, AStopEndsIt) {
  CountedWords words;
  words.Add("a");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(MakeTrainingWords(words, {}, stop.get_token()).status().code(), Code::kCancelled);
}

TEST(TrainingWordsTest, NoWordsAreNoFailure) {
  EXPECT_EQ(Made({}).size(), 0u);
  EXPECT_EQ(Made({{"", 5}}).size(), 0u);
  EXPECT_EQ(Made({{"<s>", 5}}, {.reserved = {"<s>"}}).size(), 0u);
}

}  // namespace
}  // namespace pipeline
