#include "formats/sentencepiece_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipeline {
namespace {

std::vector<std::string> TextsOf(const SentencePieceModel& model) {
  std::vector<std::string> texts;
  for (const SentencePiece& piece : model.pieces()) texts.push_back(piece.text);
  return texts;
}

SentencePieceModel Built(const UnigramModelParts& parts) {
  Result<SentencePieceModel> model = BuildUnigramModel(parts);
  if (!model.ok()) ADD_FAILURE() << model.status().message();
  return model.ok() ? std::move(model).value() : SentencePieceModel();
}

TEST(SentencePieceBuilderTest, SpecialPiecesHaveTheirIdsAndOthersTheFreeOnes) {
  const UnigramModelParts parts = {.ids = {.pad = 0, .bos = -1, .eos = 4, .unk = 2},
                                   .controls = {"<cls>"},
                                   .symbols = {"\n", "<a>"},
                                   .pieces = {{"猫", -1.5F}, {"\u2581", -2}}};
  const SentencePieceModel model = Built(parts);
  EXPECT_EQ(TextsOf(model),
            (std::vector<std::string>{"<pad>", "<cls>", "<unk>", "\n", "</s>", "<a>", "猫", "\u2581"}));
  EXPECT_EQ(model.pieces()[1].type, PieceType::kControl);
  EXPECT_EQ(model.pieces()[2].type, PieceType::kUnknown);
  EXPECT_EQ(model.pieces()[5].type, PieceType::kUserDefined);
  EXPECT_EQ(model.pieces()[6], (SentencePiece{"猫", -1.5F, PieceType::kNormal}));
  EXPECT_EQ(model.special_ids().eos, 4);
  EXPECT_EQ(model.special_ids().bos, -1);
  EXPECT_EQ(model.model_type(), "unigram");
}

TEST(SentencePieceBuilderTest, BytesComeBeforeTrainedPieces) {
  const SentencePieceModel model = Built({.ids = {.unk = 0}, .byte_fallback = true, .pieces = {{"a", -1}}});
  ASSERT_EQ(model.pieces().size(), 258u);
  EXPECT_TRUE(model.byte_fallback());
  for (std::size_t byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(model.pieces()[1 + byte].type, PieceType::kByte);
    EXPECT_EQ(ByteOfPiece(model.pieces()[1 + byte].text), static_cast<int>(byte));
  }
  EXPECT_EQ(model.pieces().back().text, "a");
}

TEST(SentencePieceBuilderTest, TheSpacingAndTheNormaliserAreThoseGiven) {
  const SentencePieceModel kept = Built(
      {.ids = {.unk = 0}, .pieces = {{"a", -1}}, .spacing = {.adds_prefix = false, .removes_extra = false}});
  EXPECT_TRUE(kept.keeps_text());
  EXPECT_EQ(kept.normalizer(), "identity");
  const SentencePieceModel changed = Built({.ids = {.unk = 0}, .pieces = {{"a", -1}}});
  EXPECT_TRUE(changed.adds_dummy_prefix());
  EXPECT_FALSE(changed.keeps_text());
}

TEST(SentencePieceBuilderTest, PartsThatAreNoModelAreRefused) {
  const auto why_not = [](const UnigramModelParts& parts) {
    const Status status = BuildUnigramModel(parts).status();
    EXPECT_EQ(status.code(), Code::kInternal);
    return std::string(status.message());
  };
  EXPECT_NE(why_not({.ids = {.unk = 0}, .pieces = {{"a", -1}, {"a", -2}}}).find("'a' comes twice"),
            std::string::npos);
  EXPECT_NE(why_not({.ids = {.unk = 5}, .pieces = {{"a", -1}}}).find("unknown"), std::string::npos);
}

}  // namespace
}  // namespace pipeline
