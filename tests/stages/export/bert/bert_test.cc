#include "stages/export/bert/bert.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/str.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"

namespace pipeline {
namespace {

const std::vector<std::uint32_t> kIds = {2, 7, 4, 3, 300, 3};
const std::vector<std::uint32_t> kPositions = {2}, kLabels = {9};
constexpr BertLengths kLengths = {8, 2};

std::string Framed(const BertInstance& instance, const BertLengths& lengths = kLengths) {
  std::string out;
  AppendBertExample(out, instance, lengths);
  return out;
}
std::string Example() {
  const std::string framed = Framed({kIds, 4, kPositions, kLabels, true});
  return framed.substr(12, framed.size() - kTfRecordOverhead);
}

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    hex += "0123456789abcdef"[number >> 4];
    hex += "0123456789abcdef"[number & 15];
  }
  return hex;
}

TEST(BertTest, TheExampleOfThePage) {
  const std::string example = Example();
  EXPECT_EQ(example.size(), 210u);
  EXPECT_EQ(Hex(example.substr(0, 31)), "0acf010a1a0a09696e7075745f696473120d1a0b0a0902070403ac02030000");
  EXPECT_TRUE(Hex(example).ends_with("0a1b0a0b7365676d656e745f696473120c1a0a0a080000000001010000"));
}

TEST(BertTest, IsWhatTheGeneralWriterWrites) {
  TfExample features;
  features["input_ids"] = TfInt64List{2, 7, 4, 3, 300, 3, 0, 0};
  features["input_mask"] = TfInt64List{1, 1, 1, 1, 1, 1, 0, 0};
  features["segment_ids"] = TfInt64List{0, 0, 0, 0, 1, 1, 0, 0};
  features["masked_lm_positions"] = TfInt64List{2, 0};
  features["masked_lm_ids"] = TfInt64List{9, 0};
  features["masked_lm_weights"] = TfFloatList{1, 0};
  features["next_sentence_labels"] = TfInt64List{1};
  std::string general, framed;
  AppendTfExample(general, features);
  AppendTfRecord(framed, general);
  EXPECT_EQ(Framed({kIds, 4, kPositions, kLabels, true}), framed);
}

TEST(BertTest, ComesBackAsItWasWritten) {
  for (const bool random_next : {false, true})
    for (const std::uint32_t first : {4u, 6u}) {
      const std::string framed = Framed({kIds, first, kPositions, kLabels, random_next});
      const auto row =
          ParseBertExample(std::string_view(framed).substr(12, framed.size() - kTfRecordOverhead), kLengths);
      ASSERT_TRUE(row.ok()) << row.status().message();
      EXPECT_EQ(row->ids, kIds);
      EXPECT_EQ(row->positions, kPositions);
      EXPECT_EQ(row->labels, kLabels);
      EXPECT_EQ(row->first_segment, first);
      EXPECT_EQ(row->random_next, random_next);
    }
}

std::string WhyNot(std::string_view name, const TfFeature& feature) {
  const std::string example = Example();
  TfExample features = ParseTfExample(example).value();
  features[name] = feature;
  std::string changed;
  AppendTfExample(changed, features);
  const auto row = ParseBertExample(changed, kLengths);
  EXPECT_EQ(row.status().code(), Code::kDataLoss) << name;
  return std::string(row.status().message());
}

TEST(BertTest, RefusesWhatTheTrainerWouldNotTakeOrUnderstand) {
  EXPECT_EQ(WhyNot("input_ids", TfInt64List{2, 3}),
            "not an example of BERT: input_ids: has 2 values where 8 were asked for");
  EXPECT_EQ(WhyNot("masked_lm_weights", TfInt64List{1, 0}),
            "not an example of BERT: masked_lm_weights: is no list of 2 floats");
  EXPECT_EQ(WhyNot("more", TfInt64List{1}), "not an example of BERT: has 8 features where 7 were asked for");
  EXPECT_EQ(WhyNot("input_mask", TfInt64List{1, 0, 1, 1, 1, 1, 0, 0}),
            "not an example of BERT: input_mask: value 2 is 1");
  EXPECT_EQ(WhyNot("segment_ids", TfInt64List{0, 1, 0, 0, 1, 1, 0, 0}),
            "not an example of BERT: segment_ids: value 2 is 0");
  EXPECT_EQ(WhyNot("input_ids", TfInt64List{2, 7, 4, 3, 300, 3, 0, 1}),
            "not an example of BERT: input_ids: value 7 is not 0, although it is padding");
  EXPECT_EQ(WhyNot("masked_lm_positions", TfInt64List{6, 0}),
            "not an example of BERT: masked_lm_positions: value 0 is 6");
  EXPECT_EQ(WhyNot("masked_lm_weights", TfFloatList{0.5, 0}),
            "not an example of BERT: masked_lm_weights: value 0 is neither 0 nor 1, or follows a 0");
  EXPECT_EQ(WhyNot("next_sentence_labels", TfInt64List{2}),
            "not an example of BERT: next_sentence_labels: 2 is neither 0 nor 1");
  EXPECT_EQ(WhyNot("masked_lm_ids", TfInt64List{-1, 0}),
            "not an example of BERT: masked_lm_ids: has the value -1");
}

TEST(BertTest, NamesEndInWhatTheTrainerAsksFor) {
  EXPECT_EQ(BertShardName("train", 3, 8), "train-00003-of-00008.tfrecord");
}

TEST(BertTest, TheConfigHasTheKeysOfTheModel) {
  const Json base = Json::Parse(BertConfigJson("base", 32000, 128)).value();
  EXPECT_EQ(base["vocab_size"].AsInt(), 32000);
  EXPECT_EQ(base["hidden_size"].AsInt(), 768);
  EXPECT_EQ(base["num_hidden_layers"].AsInt(), 12);
  EXPECT_EQ(base["num_attention_heads"].AsInt(), 12);
  EXPECT_EQ(base["intermediate_size"].AsInt(), 3072);
  EXPECT_EQ(base["max_position_embeddings"].AsInt(), 512);
  EXPECT_EQ(base.AsObject().size(), 11u);
  EXPECT_EQ(Json::Parse(BertConfigJson("tiny", 9, 1024)).value()["max_position_embeddings"].AsInt(), 1024);
}

}  // namespace
}  // namespace pipeline
