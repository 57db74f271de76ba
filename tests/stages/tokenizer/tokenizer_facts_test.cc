#include "stages/tokenizer/tokenizer_facts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "formats/sentencepiece_model.h"
#include "tests/support/built_tree.h"
#include "tests/support/map_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

TokenizerFacts Example() { return {"t5", 32100, 0, -1, 1, 2, -1, "spm.model", DigestOf("model")}; }

std::string WhyNot(const Json& json) {
  const auto facts = TokenizerFactsFromJson(json);
  EXPECT_EQ(facts.status().code(), Code::kDataLoss);
  return std::string(facts.status().message());
}

TEST(TokenizerFactsTest, ComeBackFromJson) {
  Json json = ToJson(Example());
  json["of a later version"] = 1;
  const auto facts = TokenizerFactsFromJson(json);
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(*facts, Example());
}

TEST(TokenizerFactsTest, AVocabularySaysWhichIdsAreSpecial) {
  auto directory = std::make_shared<MapStore>();
  const std::string bytes = "[PAD]\n猫\n[MASK]\n[UNK]\n[SEP]\n";
  (*directory)["mine.txt"] = bytes;
  const auto facts = ReadTokenizerFacts({directory, "mine.txt", Json()});
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->layout, "bert");
  EXPECT_EQ(facts->vocab_size, 5u);
  EXPECT_EQ(facts->pad_id, 0);
  EXPECT_EQ(facts->unk_id, 3);
  EXPECT_EQ(facts->cls_id, -1);
  EXPECT_EQ(facts->sep_id, 4);
  EXPECT_EQ(facts->mask_id, 2);
  EXPECT_EQ(facts->model_digest, DigestOf(bytes));
  TokenizerFacts morphemes = *facts;
  morphemes.morphemes = true;
  EXPECT_EQ(TokenizerFactsFromJson(ToJson(morphemes)).value(), morphemes);
}

TEST(TokenizerFactsTest, NamesWhatIsWrong) {
  Json json = ToJson(Example());
  json.Remove("eos_id");
  EXPECT_EQ(WhyNot(json), "tokenizer.eos_id: missing");
  json["eos_id"] = "1";
  EXPECT_EQ(WhyNot(json), "tokenizer.eos_id: not a whole number");
  json["eos_id"] = -2;
  EXPECT_EQ(WhyNot(json), "tokenizer.eos_id: -2, where the vocabulary has 32100 pieces");
  json["eos_id"] = 32100;
  EXPECT_EQ(WhyNot(json), "tokenizer.eos_id: 32100, where the vocabulary has 32100 pieces");
  json = ToJson(Example());
  json["model_digest"] = "12";
  EXPECT_EQ(WhyNot(json), "tokenizer.model_digest: not 32 hexadecimal digits");
}

TEST(TokenizerFactsTest, AFileSaysWhatItsModelSays) {
  auto model =
      SentencePieceModel::Parse(ReadFile(SourceDir() + "/tests/fuzz/corpus/sentencepiece_model/example"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto pieces = static_cast<std::int32_t>(model->pieces().size());
  model->AppendPiece({"</s>", 0, PieceType::kControl});
  model->AppendPiece({"\n", 0, PieceType::kUserDefined});
  const std::string bytes = model->Serialize();
  auto directory = std::make_shared<MapStore>();
  (*directory)["my.model"] = bytes;
  const auto facts = ReadTokenizerFacts({directory, "my.model", Json()});
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  const SpecialIds ids = model->special_ids();
  EXPECT_EQ(facts->eos_id, ids.eos);
  EXPECT_EQ(facts->unk_id, ids.unk);
  EXPECT_EQ(facts->pad_id, -1);
  EXPECT_EQ(facts->newline_id, pieces + 1);
  EXPECT_EQ(facts->vocab_size, static_cast<std::uint32_t>(pieces + 2));
  EXPECT_EQ(facts->layout, "unknown");
  EXPECT_EQ(facts->model, "my.model");
  EXPECT_EQ(facts->model_digest, DigestOf(bytes));

  (*directory)["my.model"] = "no model";
  const Status why = ReadTokenizerFacts({directory, "my.model", Json()}).status();
  EXPECT_EQ(why.code(), Code::kDataLoss);
  EXPECT_EQ(why.message().find("my.model: "), 0u) << why.message();
}

TEST(TokenizerFactsTest, AStageWithoutFactsIsRefused) {
  EXPECT_EQ(ReadTokenizerFacts({std::make_shared<MapStore>(), "", Json()}).status().code(),
            Code::kFailedPrecondition);
}

}  // namespace
}  // namespace pipeline
