#include "text/wordpiece.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/str.h"
#include "text/bert_characters.h"

namespace pipeline {
namespace {

using Words = std::vector<std::string>;
using Numbers = std::vector<std::uint32_t>;

Words WordsOf(std::string_view text, BertWordKind kind = BertWordKind::kText, const Numbers& cuts = {}) {
  BertWords words;
  Words found;
  words.Start(text, kind, cuts);
  while (words.Next()) found.emplace_back(words.word());
  return found;
}

TEST(BertWordsTest, WhiteSpacePunctuationAndIdeographsDivide) {
  EXPECT_EQ(WordsOf("Hello, wörld!\t東京タワーがた。"),
            (Words{"Hello", ",", "wörld", "!", "東", "京", "タワーがた", "。"}));
  EXPECT_EQ(WordsOf("한국어는 좋다."), (Words{"한국어는", "좋다", "."}));
  EXPECT_EQ(WordsOf("\u3000 \u00a0\u2028"), (Words{}));
  EXPECT_EQ(WordsOf("a$b^c`d"), (Words{"a", "$", "b", "^", "c", "`", "d"}));
  EXPECT_EQ(WordsOf("𠮷野"), (Words{"𠮷", "野"}));
}

TEST(BertWordsTest, ControlCharactersAreTakenOut) {
  BertWords words;
  words.Start("a\u200bb\ufffd \x01 c", BertWordKind::kText, {});
  ASSERT_TRUE(words.Next());
  EXPECT_EQ(words.word(), "ab");
  EXPECT_EQ(words.EndOf(1), 1u);
  EXPECT_EQ(words.EndOf(2), 5u);
  ASSERT_TRUE(words.Next());
  EXPECT_EQ(words.word(), "c");
  EXPECT_EQ(words.EndOf(1), 12u);
  EXPECT_FALSE(words.Next());
}

TEST(BertWordsTest, MorphemesAreNotDivided) {
  EXPECT_EQ(WordsOf("東京 タワー！！", BertWordKind::kMorphemes, {6, 16, 22}),
            (Words{"東京", "タワー", "！！"}));
  EXPECT_EQ(WordsOf("a\u200bb", BertWordKind::kMorphemes, {1, 5}), (Words{"a", "b"}));
}

TEST(BertCharactersTest, WhereTokenizersAndUnicodeDiffer) {
  EXPECT_EQ(BertCharacterOf(0x2b820), BertCharacter::kPlain) << "an ideograph, by a slip of theirs not alone";
  EXPECT_EQ(BertCharacterOf(0xe000), BertCharacter::kRemoved) << "private use";
  EXPECT_EQ(BertCharacterOf(0x2e5d), BertCharacter::kPlain) << "punctuation of Unicode 14";
  EXPECT_EQ(BertCharacterOf(0x10ffff), BertCharacter::kPlain);
  EXPECT_EQ(BertCharacterOf('\t'), BertCharacter::kSpace);
  EXPECT_EQ(BertCharacterOf(0x85), BertCharacter::kRemoved);
}

WordPieceVocabulary Vocabulary() {
  auto vocabulary = WordPieceVocabulary::Parse("[UNK]\nun\n##aff\n##able\n##a\nunaff\n東\n##b\n");
  EXPECT_TRUE(vocabulary.ok()) << vocabulary.status().message();
  return std::move(vocabulary).value();
}

struct Encoded {
  Numbers ids, ends;
  bool operator==(const Encoded&) const = default;
};

Encoded Encode(const WordPieceVocabulary& vocabulary, std::string_view text) {
  const WordPieceEncoder encoder(vocabulary, BertWordKind::kText);
  BertWords words;
  Encoded encoded;
  encoder.Encode(text, {}, words, encoded.ids, encoded.ends);
  return encoded;
}

TEST(WordPieceTest, TakesTheLongestPieceFirst) {
  EXPECT_EQ(Encode(Vocabulary(), "unaffable"), (Encoded{{5, 3}, {5, 9}}));
  EXPECT_EQ(Encode(Vocabulary(), "unab 東un"), (Encoded{{1, 4, 7, 6, 1}, {2, 3, 4, 8, 10}}));
}

TEST(WordPieceTest, AWordWithoutPiecesIsUnknownAsAWhole) {
  EXPECT_EQ(Encode(Vocabulary(), "un unx 犬 aff "), (Encoded{{1, 0, 0, 0}, {2, 6, 10, 15}}));
  std::string word = "un";
  for (int i = 0; i < 98; ++i) word += "a";
  EXPECT_EQ(Encode(Vocabulary(), word).ids.size(), 99u);
  EXPECT_EQ(Encode(Vocabulary(), word + "a"), (Encoded{{0}, {101}}));
}

Numbers EncodeMorphemes(const WordPieceVocabulary& vocabulary, std::string_view text, const Numbers& cuts) {
  const WordPieceEncoder encoder(vocabulary, BertWordKind::kMorphemes);
  BertWords words;
  Encoded encoded;
  encoder.Encode(text, cuts, words, encoded.ids, encoded.ends);
  return encoded.ids;
}

TEST(WordPieceTest, TextIsNeverASpecialPiece) {
  const auto vocabulary =
      WordPieceVocabulary::Parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n[\n##S\n##E\n##P\n##]\n[SEP]x\n");
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(EncodeMorphemes(*vocabulary, "[SEP]", {5}), (Numbers{5, 6, 7, 8, 9}));
  EXPECT_EQ(EncodeMorphemes(*vocabulary, "[SEP]x", {6}), (Numbers{10}));
  EXPECT_EQ(EncodeMorphemes(*vocabulary, "[PAD]", {5}), (Numbers{1}));
}

TEST(WordPieceTest, AWordThatBeginsLikeAContinuationIsLookedUpAsItIs) {
  const auto vocabulary = WordPieceVocabulary::Parse("[UNK]\n##a\n##\n##b\n####a\nx\n");
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(EncodeMorphemes(*vocabulary, "##ab", {4}), (Numbers{1, 3}));
  EXPECT_EQ(EncodeMorphemes(*vocabulary, "##b", {3}), (Numbers{3}));
  EXPECT_EQ(EncodeMorphemes(*vocabulary, "x##a", {4}), (Numbers{5, 4}));
}

TEST(WordPieceTest, SaysHowMuchItHolds) {
  std::string text = "[UNK]\n";
  for (std::size_t i = 0; i < 100'000; ++i) text += StrCat("x", i, "\n");
  const WordPieceEncoder encoder(WordPieceVocabulary::Parse(text).value(), BertWordKind::kText);
  EXPECT_GE(encoder.memory(), 100'000 * (2 * 16 + 4)) << "two places of the table for each node";
  EXPECT_LT(encoder.memory(), 100'000 * 100);
}

TEST(WordPieceTest, TextWithoutWordsHasNoIds) {
  EXPECT_EQ(Encode(Vocabulary(), " \u3000\u200b"), (Encoded{}));
}

std::string WhyNot(std::string_view text) {
  const auto vocabulary = WordPieceVocabulary::Parse(text);
  EXPECT_EQ(vocabulary.status().code(), Code::kDataLoss);
  return std::string(vocabulary.status().message());
}

TEST(WordPieceVocabularyTest, NamesTheLineThatIsWrong) {
  EXPECT_EQ(WhyNot(""), "is empty: a vocabulary is a piece per line");
  EXPECT_EQ(WhyNot("a\nb\n"), "has no piece [UNK] for unknown words");
  EXPECT_EQ(WhyNot("[UNK]\na\nb\na\n"), "line 4: the piece 'a' stands in line 2 already");
  EXPECT_EQ(WhyNot("[UNK]\r\na\r\n"),
            "line 1: ends with CR LF, and the CR would be a part of the piece; convert it (dos2unix)");
  EXPECT_EQ(WhyNot("[UNK]\n\na\n"), "line 2: is empty, where each line is a piece");
  EXPECT_EQ(WhyNot("[UNK]\n\xff\n"), "line 2: is not UTF-8");
  std::string many = "[UNK]\n";
  for (std::size_t i = 0; i < kMaxWordPieces; ++i) many += StrCat(i, "\n");
  EXPECT_EQ(WhyNot(many), "line 1048577: a vocabulary has at most 1048576 pieces");
  EXPECT_TRUE(WhyNot(std::string(kMaxWordPieceBytes + 1, 'a')).starts_with("has 16"));
}

TEST(WordPieceVocabularyTest, IsWrittenAsItWasRead) {
  const std::string text = "[PAD]\n[UNK]\n##が\n";
  const auto vocabulary = WordPieceVocabulary::Parse(text);
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->Serialize(), text);
  EXPECT_EQ(vocabulary->Find("##が"), 2u);
  EXPECT_EQ(vocabulary->Find("が"), std::nullopt);
  EXPECT_EQ(WordPieceVocabulary::Parse("[UNK]\na")->size(), 2u) << "the last line may lack its end";
}

}  // namespace
}  // namespace pipeline
