#include "text/word_cutter.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "tests/support/times.h"
#include "text/utf8.h"

namespace pipeline {
namespace {

using Morphemes = std::vector<std::string_view>;

/// Answers what a test tells it to, and remembers the pieces that it was asked about.
class ToldAnalyser final : public Analyser {
 public:
  using Answer = std::function<bool(std::string_view, Morphemes&)>;
  ToldAnalyser(Answer answer, std::vector<std::string>& asked) : answer_(std::move(answer)), asked_(asked) {}
  bool Analyse(std::string_view text, Morphemes& morphemes) override {
    asked_.emplace_back(text);
    morphemes.clear();
    return answer_(text, morphemes);
  }

 private:
  Answer answer_;
  std::vector<std::string>& asked_;
};

struct Outcome {
  std::vector<std::uint32_t> cuts;
  WordFallbacks fallbacks;
  std::vector<std::string> pieces;
};

Outcome Cut(std::string_view text, ToldAnalyser::Answer answer) {
  Outcome outcome;
  WordCutter cutter(std::make_unique<ToldAnalyser>(std::move(answer), outcome.pieces));
  outcome.fallbacks = cutter.Cut(text, outcome.cuts);
  return outcome;
}

/// One morpheme, the whole piece.
bool Whole(std::string_view text, Morphemes& morphemes) {
  morphemes.push_back(text);
  return true;
}

using Cuts = std::vector<std::uint32_t>;

TEST(WordCutterTest, MorphemesAreCutsAndTrailingWhiteSpaceIsTheLastOnes) {
  const auto split = [](std::string_view text, Morphemes& morphemes) {
    morphemes = {text.substr(0, 3), text.substr(3, 4)};
    return true;
  };
  const Outcome outcome = Cut("猫 犬 \u3000 ", split);
  EXPECT_EQ(outcome.cuts, (Cuts{3, 12}));
  EXPECT_FALSE(outcome.fallbacks.rejoin_mismatch);
  EXPECT_EQ(Cut("猫 犬", split).cuts, (Cuts{3, 7}));
}

TEST(WordCutterTest, WhiteSpaceAloneIsOneMorphemeAndNothingIsNone) {
  const auto nothing = [](std::string_view, Morphemes&) { return true; };
  EXPECT_EQ(Cut("  \t", nothing).cuts, (Cuts{3}));
  const Outcome empty = Cut("", nothing);
  EXPECT_TRUE(empty.cuts.empty());
  EXPECT_TRUE(empty.pieces.empty());
}

TEST(WordCutterTest, AFailureCutsIntoCharactersAndIsReported) {
  const Outcome outcome = Cut("aé猫😀", [](std::string_view, Morphemes&) { return false; });
  EXPECT_EQ(outcome.cuts, (Cuts{1, 3, 6, 10}));
  EXPECT_TRUE(outcome.fallbacks.analyser_failed);
  EXPECT_FALSE(outcome.fallbacks.rejoin_mismatch);
}

TEST(WordCutterTest, MorphemesThatAreNotTheTextAreReplacedByItsCharacters) {
  const std::vector<Morphemes> wrong = {
      {},                                                       // nothing of it
      {"猫", "猫"},                                             // another text
      {"犬"},                                                   // another front
      {"猫"},                                                   // an end is missing that is no white space
      {"猫", "", "犬"},                                         // an empty one
      {"猫犬", "犬"},                                           // too much
      {std::string_view("猫").substr(0, 1), "\x8c\xab", "犬"},  // inside a character
  };
  for (const Morphemes& answer : wrong) {
    const Outcome outcome = Cut("猫犬", [&](std::string_view, Morphemes& morphemes) {
      morphemes = answer;
      return true;
    });
    EXPECT_EQ(outcome.cuts, (Cuts{3, 6}));
    EXPECT_TRUE(outcome.fallbacks.rejoin_mismatch) << answer.size();
  }
}

TEST(WordCutterTest, OnlyTheFailedPieceFallsBack) {
  const std::string first = Times("あ", 2700) + "。";
  const std::string text = first + Times("い", 400);
  const Outcome outcome = Cut(text, [](std::string_view piece, Morphemes& morphemes) {
    morphemes.push_back(piece);
    return piece.starts_with("あ");
  });
  ASSERT_EQ(outcome.pieces.size(), 2u);
  ASSERT_EQ(outcome.cuts.size(), 401u);
  EXPECT_EQ(outcome.cuts[0], first.size());
  EXPECT_EQ(outcome.cuts[1], first.size() + 3);
  EXPECT_EQ(outcome.cuts.back(), text.size());
}

TEST(FirstPieceTest, AShortTextIsWhole) {
  const std::string text = Times("猫。", kMostAnalysedBytes / 6) + "ab";  // 8192 bytes
  ASSERT_EQ(text.size(), kMostAnalysedBytes);
  EXPECT_EQ(FirstPiece(text).bytes, text.size());
  EXPECT_FALSE(FirstPiece(text).inside_sentence);
}

TEST(FirstPieceTest, EndsBehindTheLastSentenceEndThatFits) {
  const std::string filling = Times("か", 3000);
  for (const std::string end :
       {"。", "！", "？", "…", "!", "?", "\n", "．", "。」", "？！", "!\")", "。』）", ". "}) {
    const std::string text = "あ。い" + end + filling;
    const TextPiece piece = FirstPiece(text);
    const std::size_t space = end == ". " ? 1 : 0;  // goes with what follows
    EXPECT_EQ(text.substr(0, piece.bytes), "あ。い" + end.substr(0, end.size() - space)) << end;
    EXPECT_FALSE(piece.inside_sentence) << end;
  }
}

TEST(FirstPieceTest, ADotInsideANumberIsNoSentenceEnd) {
  const std::string text = "x. 3." + Times("1", 9000);
  EXPECT_EQ(FirstPiece(text).bytes, 2u);
}

TEST(FirstPieceTest, WithoutASentenceEndItIsWhiteSpaceThenAPauseThenACharacter) {
  const std::string filling = Times("か", 3000);
  const TextPiece space = FirstPiece("ab  cd  " + filling);
  EXPECT_EQ(space.bytes, 6u) << "in front of the run";
  EXPECT_TRUE(space.inside_sentence);
  EXPECT_EQ(FirstPiece("ab、" + filling).bytes, 5u);
  const TextPiece forced = FirstPiece("a" + filling);
  EXPECT_TRUE(forced.inside_sentence);
  EXPECT_EQ(forced.bytes, 2047u) << "1 + 682 * 3";
}

TEST(FirstPieceTest, AlwaysTakesSomething) {
  for (const std::string& text :
       {Times(" ", 9000), " " + Times("x", 9000), Times("\xa9", 9000), Times("、", 9000)}) {
    const TextPiece piece = FirstPiece(text);
    EXPECT_GT(piece.bytes, 0u);
    EXPECT_LE(piece.bytes, kMostAnalysedBytes);
  }
}

TEST(WordCutterTest, AMegabyteWithoutASentenceEndIsCutAtCharacters) {
  const std::string text = Times("猫", 350'000);
  const Outcome outcome = Cut(text, Whole);
  EXPECT_TRUE(outcome.fallbacks.cut_inside_sentence);
  EXPECT_FALSE(outcome.fallbacks.rejoin_mismatch);
  for (const std::string& piece : outcome.pieces) ASSERT_LE(piece.size(), kMostAnalysedBytes);
  for (const std::uint32_t cut : outcome.cuts) ASSERT_EQ(cut % 3, 0u);
  EXPECT_EQ(outcome.cuts.back(), text.size());
}

TEST(WordCutterTest, AnyTextIsCoveredByItsPieces) {
  std::mt19937 random(11);
  const std::vector<std::string> parts = {"猫", "a",      " ", "。", "、", "é",
                                          "😀",  "\u3000", ".", "」", "\n", "ん"};
  for (int round = 0; round < 60; ++round) {
    // Some texts lack what can be cut at.
    const std::size_t known = 1 + random() % parts.size();
    std::string text;
    while (text.size() < 30'000) text += parts[random() % known];
    const Outcome outcome = Cut(text, Whole);
    std::string joined;
    for (const std::string& piece : outcome.pieces) {
      ASSERT_TRUE(IsCleanUtf8(piece));
      ASSERT_LE(piece.size(), kMostAnalysedBytes);
      joined += piece;
    }
    ASSERT_EQ(joined, text);
    ASSERT_EQ(outcome.cuts.back(), text.size());
  }
}

}  // namespace
}  // namespace pipeline
