#include "text/sentencepiece/line_codec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipeline {
namespace {

constexpr std::string_view kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n猫\nhe\n##llo\n!\n";

TEST(LineCodecTest, AVocabularyGivesTheIdsOfWordsAndTheirText) {
  const auto codec = LineCodec::Open(TokenizerKind::kVocabulary, kVocabulary);
  ASSERT_TRUE(codec.ok()) << codec.status().message();
  std::vector<std::uint32_t> ids, ends;
  ASSERT_TRUE((*codec)->Encode("hello! 猫 犬", ids, ends).ok());
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{6, 7, 8, 5, 1}));
  EXPECT_EQ(ends, (std::vector<std::uint32_t>{2, 5, 6, 10, 14}));
  EXPECT_EQ(*(*codec)->Decode(ids), "hello ! 猫 [UNK]");
  EXPECT_EQ(*(*codec)->Decode({}), "");
  EXPECT_EQ((*codec)->Decode(std::vector<std::uint32_t>{9}).status().message(),
            "an id is 9 and the vocabulary has 9 pieces");
  EXPECT_NE((*codec)->vocabulary(), nullptr);
}

TEST(LineCodecTest, AFileOfTheOtherKindIsRefused) {
  EXPECT_FALSE(LineCodec::Open(TokenizerKind::kSentencePiece, kVocabulary).ok());
  EXPECT_FALSE(LineCodec::Open(TokenizerKind::kVocabulary, "\x0a\x09\x0a\x05<pad>\x18\x03").ok());
}

}  // namespace
}  // namespace pipeline
