#include "text/unigram/pre_tokens.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "text/unicode.h"

namespace pipeline {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

Counts Counted(WordStarts starts, std::string_view line, const std::vector<std::string>& morphemes) {
  std::vector<std::uint32_t> cuts;
  std::uint32_t end = 0;
  for (const std::string& morpheme : morphemes)
    cuts.push_back(end += static_cast<std::uint32_t>(morpheme.size()));
  EXPECT_EQ(end, line.size());
  CountedWords words;
  PreTokens(starts).Count(line, cuts, words);
  const auto all = words.All();
  return {all.begin(), all.end()};
}

TEST(PreTokensTest, TheWordStartJoinsTheFirstMorpheme) {
  const std::string line = "이 영화 영화는\t좋다";
  const std::vector<std::string> morphemes = {"이", " 영화", " 영화", "는", "\t좋", "다"};
  EXPECT_EQ(Counted(WordStarts::kDropped, line, morphemes),
            (Counts{{"이", 1}, {"영화", 2}, {"는", 1}, {"좋", 1}, {"다", 1}}));
  EXPECT_EQ(Counted(WordStarts::kBehindSpace, line, morphemes),
            (Counts{{"이", 1}, {"\u2581영화", 2}, {"는", 1}, {"\u2581좋", 1}, {"다", 1}}));
  EXPECT_EQ(Counted(WordStarts::kBehindSpaceOrLine, line, morphemes),
            (Counts{{"\u2581이", 1}, {"\u2581영화", 2}, {"는", 1}, {"\u2581좋", 1}, {"다", 1}}));
}

TEST(PreTokensTest, EachMorphemeMayCountAsAWord) {
  EXPECT_EQ(Counted(WordStarts::kEverywhere, "猫が いる\u2585の", {"猫", "が", " いる\u2585の"}),
            (Counts{{"\u2581猫", 1}, {"\u2581が", 1}, {"\u2581いる", 1}, {"\u2581の", 1}}));
}

TEST(PreTokensTest, AWordThatGetsSpacesBecomesItsParts) {
  const auto counted = [](WordStarts starts, std::string_view text, bool begins_word) {
    CountedWords words;
    PreTokens(starts).CountText(text, begins_word, 5, words);
    const auto all = words.All();
    return Counts{all.begin(), all.end()};
  };
  EXPECT_EQ(counted(WordStarts::kDropped, "a b", false), (Counts{{"a", 5}, {"b", 5}}));
  EXPECT_EQ(counted(WordStarts::kBehindSpace, "a b", false), (Counts{{"a", 5}, {"\u2581b", 5}}));
  EXPECT_EQ(counted(WordStarts::kBehindSpace, "a a", true), (Counts{{"\u2581a", 10}}));
  EXPECT_EQ(counted(WordStarts::kBehindSpace, " ", true), Counts());
}

TEST(PreTokensTest, APartThatIsNoWordIsCut) {
  const std::string line = std::string(kMostPartBytes * 3, 'a') + "猫";
  EXPECT_EQ(Counted(WordStarts::kBehindSpaceOrLine, line, {line}),
            (Counts{{"\u2581" + std::string(kMostPartBytes, 'a'), 1},
                    {std::string(kMostPartBytes, 'a'), 2},
                    {"猫", 1}}));
  std::string kana;
  while (kana.size() < kMostPartBytes) kana += "あ";
  const std::string front = kana.substr(0, kana.size() - 3);
  EXPECT_EQ(Counted(WordStarts::kDropped, kana, {kana}), (Counts{{front, 1}, {"あ", 1}}));
  EXPECT_EQ(Counted(WordStarts::kDropped, front, {front}), (Counts{{front, 1}}));
}

TEST(PreTokensTest, ReservedMarksCutAndBeginNoWord) {
  EXPECT_EQ(Counted(WordStarts::kBehindSpace, "a\u2585b\u2581c  d ", {"a\u2585b\u2581c  d "}),
            (Counts{{"a", 1}, {"b", 1}, {"\u2581c", 1}, {"\u2581d", 1}}));
}

TEST(PreTokensTest, ACharacterWithTheFirstByteOfAMarkIsNone) {
  EXPECT_EQ(Counted(WordStarts::kDropped, "\u2582\u2580", {"\u2582", "\u2580"}),
            (Counts{{"\u2582", 1}, {"\u2580", 1}}));
  EXPECT_EQ(Counted(WordStarts::kDropped, "", {}), Counts());
}

TEST(PreTokensTest, RunsOfAScriptAreParts) {
  const CharacterClasses classes = UnicodeClasses();
  const auto parts = [&classes](std::string_view line, JapaneseScripts japanese = JapaneseScripts::kThree) {
    std::vector<std::uint32_t> cuts;
    FindScriptCuts(line, classes, japanese, cuts);
    std::vector<std::string> found;
    std::uint32_t begin = 0;
    for (const std::uint32_t end : cuts) {
      found.emplace_back(line.substr(begin, end - begin));
      begin = end;
    }
    EXPECT_EQ(begin, line.size());
    return found;
  };
  using Parts = std::vector<std::string>;
  EXPECT_EQ(parts("東京タワーへ行く。2026年!"),
            (Parts{"東京", "タワー", "へ", "行", "く", "。", "2026", "年", "!"}));
  EXPECT_EQ(parts("東京タワーへ行く。2026年!", JapaneseScripts::kOne),
            (Parts{"東京タワーへ行く", "。", "2026", "年", "!"}));
  EXPECT_EQ(parts("e\u0301a x한국"), (Parts{"e\u0301a x", "한국"}));
  EXPECT_EQ(parts(" "), (Parts{" "}));
  EXPECT_EQ(parts(""), Parts());
}

}  // namespace
}  // namespace pipeline
