#include "text/wordpiece_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace pipeline {
namespace {

using Pieces = std::vector<std::string>;

WordCounts Counts(const std::map<std::string, int>& words) {
  WordCounts counts;
  for (const auto& [word, count] : words)
    for (int i = 0; i < count; ++i) counts.Add(word);
  return counts;
}

Pieces Train(const std::map<std::string, int>& words, const WordPieceRules& rules) {
  const auto pieces = TrainWordPieces(Counts(words), rules, {});
  EXPECT_TRUE(pieces.ok()) << pieces.status().message();
  return pieces.ok() ? *pieces : Pieces();
}

std::string WhyNot(const std::map<std::string, int>& words, const WordPieceRules& rules) {
  return std::string(TrainWordPieces(Counts(words), rules, {}).status().message());
}

// a b c d are as frequent as each other; "ab" is always together, "##c" comes behind everything.
TEST(WordPieceTrainerTest, MergesWhatBelongsTogether) {
  const Pieces pieces = Train({{"ab", 40}, {"xc", 20}, {"yc", 20}, {"zc", 20}, {"wc", 20}}, {.pieces = 8});
  EXPECT_EQ(pieces, (Pieces{"a", "##b", "##c", "w", "x", "y", "z", "ab"}));
}

TEST(WordPieceTrainerTest, WordsGrowPieceByPiece) {
  const Pieces pieces = Train({{"ばばあ", 30}, {"ばか", 30}, {"かば", 30}, {"はは", 5}}, {.pieces = 11});
  EXPECT_NE(std::find(pieces.begin(), pieces.end(), "ばばあ"), pieces.end());
  EXPECT_NE(std::find(pieces.begin(), pieces.end(), "かば"), pieces.end());
  EXPECT_NE(std::find(pieces.begin(), pieces.end(), "は"), pieces.end())
      << "voiced kana are letters of their own";
  EXPECT_EQ(std::find(pieces.begin(), pieces.end(), "はは"), pieces.end());
}

TEST(WordPieceTrainerTest, RareCharactersAreLeftOutWithTheirWords) {
  const Pieces pieces = Train({{"ab", 99}, {"axb", 1}}, {.pieces = 3, .character_coverage = 0.99});
  EXPECT_EQ(pieces, (Pieces{"a", "##b", "ab"}));
}

TEST(WordPieceTrainerTest, NoPieceIsLongerThanAllowed) {
  for (const std::string& piece :
       Train({{"abcdefgh", 50}}, {.pieces = 99, .fewer_will_do = true, .max_characters = 3}))
    EXPECT_LE(piece.size(), 5u) << piece;
}

TEST(WordPieceTrainerTest, RepeatedCharactersAreCountedOnce) {
  const Pieces pieces = Train({{"aaaaa", 10}, {"aab", 10}}, {.pieces = 99, .fewer_will_do = true});
  EXPECT_NE(std::find(pieces.begin(), pieces.end(), "aaaaa"), pieces.end());
  EXPECT_NE(std::find(pieces.begin(), pieces.end(), "aab"), pieces.end());
}

TEST(WordPieceTrainerTest, SpecialPiecesAreNotMadeOfText) {
  const Pieces pieces =
      Train({{"[MASK]", 50}, {"[SEP]s", 50}, {"x[PAD]", 50}}, {.pieces = 99, .fewer_will_do = true});
  const auto has = [&pieces](std::string_view piece) {
    return std::find(pieces.begin(), pieces.end(), piece) != pieces.end();
  };
  EXPECT_FALSE(has("[MASK]") || has("[SEP]"));
  EXPECT_TRUE(has("x[PAD]") || has("##[PAD]")) << "behind something it is no special piece";
}

TEST(WordPieceTrainerTest, SaysHowManyWouldDo) {
  EXPECT_EQ(
      WhyNot({{"abc", 5}}, {.pieces = 2, .other_pieces = 5}),
      "vocab_size: 7 is too few: the special pieces and the characters that character_coverage asks for "
      "are 8 already; 8 to 10 would do, or `vocab_size: auto`, or a lower character_coverage");
  EXPECT_EQ(
      WhyNot({{"abc", 5}}, {.pieces = 50, .other_pieces = 5}),
      "vocab_size: 55 is more than this text has pieces for; 8 to 10 would do, or `vocab_size: auto`, or "
      "more text");
  for (const std::size_t pieces : {3U, 4U, 5U})
    EXPECT_EQ(Train({{"abc", 5}}, {.pieces = pieces}).size(), pieces);
}

TEST(WordPieceTrainerTest, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(TrainWordPieces(Counts({{"abc", 5}}), {.pieces = 5}, stop.get_token()).status().code(),
            Code::kCancelled);
}

}  // namespace
}  // namespace pipeline
