#include "text/tokenizer_corpus.h"

#include <gtest/gtest.h>

#include <vector>

namespace pipeline {
namespace {

struct TakenSentences {
  std::vector<std::string> all;
  TakeSentence take = [this](std::string_view sentence) {
    all.emplace_back(sentence);
    return Status();
  };
  std::string joined() const {
    std::string out;
    for (const std::string& sentence : all) out += sentence;
    return out;
  }
};

TEST(CutIntoSentencesTest, ShortLinesStayWhole) {
  TakenSentences sentences;
  EXPECT_EQ(CutIntoSentences("猫。犬。", 12, sentences.take).value(), 0u);
  EXPECT_EQ(CutIntoSentences("", 12, sentences.take).value(), 0u);
  EXPECT_EQ(sentences.all, std::vector<std::string>{"猫。犬。"});
}

TEST(CutIntoSentencesTest, LongLinesAreCutAtTheBestPlaceThatFits) {
  TakenSentences ends;
  EXPECT_EQ(CutIntoSentences("猫だ。犬だ。鳥だ", 20, ends.take).value(), 1u);
  EXPECT_EQ(ends.all, (std::vector<std::string>{"猫だ。犬だ。", "鳥だ"}));
  TakenSentences spaces;
  EXPECT_EQ(CutIntoSentences("ab cd ef gh", 8, spaces.take).value(), 1u);
  EXPECT_EQ(spaces.all, (std::vector<std::string>{"ab cd ", "ef gh"}));
  TakenSentences stop;
  EXPECT_EQ(CutIntoSentences("v1.5 is. It was not", 12, stop.take).value(), 1u);
  EXPECT_EQ(stop.all, (std::vector<std::string>{"v1.5 is.", " It was not"}));
  TakenSentences characters;
  EXPECT_EQ(CutIntoSentences("猫犬鳥魚", 8, characters.take).value(), 1u);
  EXPECT_EQ(characters.all, (std::vector<std::string>{"猫犬", "鳥魚"}));
}

TEST(CutIntoSentencesTest, NothingIsLostOfALineWithoutAnEnd) {
  std::string line;
  for (int i = 0; i < 350000; ++i) line += "あ";  // a MiB
  TakenSentences sentences;
  const std::uint64_t cuts = CutIntoSentences(line, 4096, sentences.take).value();
  EXPECT_EQ(cuts + 1, sentences.all.size());
  EXPECT_EQ(sentences.joined(), line);
  for (const std::string& sentence : sentences.all) EXPECT_LE(sentence.size(), 4096u);
}

TEST(CutIntoSentencesTest, CutsAtReservedMarksWhichTheLibraryWouldSkipTheLineFor) {
  TakenSentences sentences;
  EXPECT_EQ(CutIntoSentences("猫\u2585犬\u2585", 100, sentences.take).value(), 2u);
  EXPECT_EQ(sentences.all, (std::vector<std::string>{"猫", "犬"}));
}

TEST(CutIntoSentencesTest, FailureOfTheTakerComesBack) {
  const TakeSentence fail = [](std::string_view) { return Status(Code::kUnavailable, "no"); };
  EXPECT_EQ(CutIntoSentences("a", 8, fail).status().code(), Code::kUnavailable);
}

TEST(JoinMorphemesTest, PutsOneSpaceBetweenMorphemes) {
  TakenSentences sentences;
  const std::vector<std::uint32_t> cuts = {3, 6, 7, 13};
  EXPECT_EQ(JoinMorphemes("猫が 鳴く", cuts, 100, sentences.take).value(), 0u);
  EXPECT_EQ(sentences.all, std::vector<std::string>{"猫 が 鳴く"});
}

TEST(JoinMorphemesTest, CutsLongLinesBetweenMorphemes) {
  TakenSentences sentences;
  const std::vector<std::uint32_t> cuts = {3, 6, 12};
  EXPECT_EQ(JoinMorphemes("猫が鳴く", cuts, 8, sentences.take).value(), 1u);
  EXPECT_EQ(sentences.all, (std::vector<std::string>{"猫 が", "鳴く"}));
}

}  // namespace
}  // namespace pipeline
