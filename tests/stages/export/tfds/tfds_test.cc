#include "stages/export/tfds/tfds.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "formats/tf_example.h"

namespace pipeline {
namespace {

// The examples of stages/export/tfds/tfds.md.
constexpr std::string_view kInfo = R"({
  "description": "cc100 ja, cleaned",
  "fileFormat": "tfrecord",
  "name": "cc100_ja",
  "splits": [
    {
      "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
      "name": "train",
      "numBytes": "123456789",
      "shardLengths": [
        "1000",
        "1000"
      ]
    },
    {
      "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
      "name": "validation",
      "numBytes": "2345678",
      "shardLengths": [
        "500"
      ]
    }
  ],
  "version": "1.0.0"
}
)";
constexpr std::string_view kFeatures = R"({
  "featuresDict": {
    "features": {
      "text": {
        "pythonClassName": "tensorflow_datasets.core.features.text_feature.Text",
        "text": {}
      }
    }
  },
  "pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict"
}
)";

TfdsInfo Example() {
  return {"cc100_ja",
          "1.0.0",
          "cc100 ja, cleaned",
          {{"train", {1000, 1000}, 123456789}, {"validation", {500}, 2345678}}};
}

std::string WhyNoInfo(std::string_view json) {
  const auto info = ParseTfdsInfo(json);
  if (info.ok()) return "it is one";
  EXPECT_EQ(info.status().code(), Code::kInvalidArgument);
  return std::string(info.status().message());
}

TEST(TfdsTest, WritesTheDocumentedBytes) {
  EXPECT_EQ(TfdsInfoJson(Example()), kInfo);
  EXPECT_EQ(TfdsFeaturesJson(), kFeatures);
  constexpr std::string_view kLabel = R"(      "label": {
        "classLabel": {
          "numClasses": "2"
        },
        "pythonClassName": "tensorflow_datasets.core.features.class_label_feature.ClassLabel"
      },
)";
  std::string labelled(kFeatures);
  labelled.insert(labelled.find("      \"text\""), kLabel);
  EXPECT_EQ(TfdsFeaturesJson({{"text"}, 2}), labelled);
  for (const TfdsFeatures& features :
       {TfdsFeatures{}, TfdsFeatures{{"text"}, 2}, TfdsFeatures{{"a", "b"}, 3}}) {
    const auto parsed = ParseTfdsFeatures(TfdsFeaturesJson(features));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, features);
  }
  EXPECT_FALSE(ParseTfdsFeatures("{}").ok());
  EXPECT_FALSE(ParseTfdsFeatures("{").ok());
  EXPECT_FALSE(ParseTfdsFeatures(TfdsFeaturesJson({{}, 2})).ok());
  std::string example;
  AppendTfExample(example, {{kTfdsLabelFeature, TfInt64List{1}}, {kTfdsTextFeature, TfBytesList{"猫"}}});
  EXPECT_EQ(example,
            "\x0a\x21\x0a\x0e\x0a\x05label\x12\x05\x1a\x03\x0a\x01\x01"
            "\x0a\x0f\x0a\x04text\x12\x07\x0a\x05\x0a\x03\xe7\x8c\xab");
}

TEST(TfdsTest, ReadsTheDocumentedBytes) {
  const auto info = ParseTfdsInfo(kInfo);
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(*info, Example());
}

TEST(TfdsTest, AnEmptyDescriptionIsLeftOut) {
  TfdsInfo info = Example();
  info.description.clear();
  const std::string json = TfdsInfoJson(info);
  EXPECT_EQ(json.find("description"), std::string::npos);
  const auto back = ParseTfdsInfo(json);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, info);
}

TEST(TfdsTest, ReadsNumbersAndDefaultsAsProtocolBuffersDo) {
  const auto info = ParseTfdsInfo(
      R"({"name": "x", "version": "1.0.0", "citation": "c", "downloadSize": "5",
          "splits": [{"name": "train", "shardLengths": [3, "0"], "filepathTemplate": ""}]})");
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(*info, (TfdsInfo{"x", "1.0.0", "", {{"train", {3, 0}, 0}}}));
}

TEST(TfdsTest, RefusesWhatTfdsWouldNotLoadOrWeDoNotWrite) {
  EXPECT_EQ(WhyNoInfo(R"({"name": "x", "version": "1.0.0", "configTags": []})"),
            "dataset_info.json: DatasetInfo.configTags: unknown field: TensorFlow Datasets does not load "
            "such a file");
  EXPECT_EQ(
      WhyNoInfo(R"({"name": "x", "version": "1.0.0", "splits": [{"name": "t", "shardLength": []}]})"),
      "dataset_info.json: splits.shardLength: unknown field: TensorFlow Datasets does not load such a file");
  EXPECT_EQ(WhyNoInfo(R"({"version": "1.0.0"})"), "dataset_info.json: name: missing");
  EXPECT_EQ(WhyNoInfo(R"({"name": "x"})"), "dataset_info.json: version: missing");
  EXPECT_EQ(WhyNoInfo(R"({"name": "x", "version": "1.0.0", "splits": [{"name": "t"}]})"),
            "dataset_info.json: splits.shardLengths: missing, or not an array");
  EXPECT_EQ(WhyNoInfo(R"({"name": "x", "version": "1.0.0", "fileFormat": "parquet"})"),
            "dataset_info.json: fileFormat: not tfrecord");
  EXPECT_EQ(WhyNoInfo(R"([])"), "dataset_info.json: DatasetInfo: not an object");
  for (const std::string_view count :
       {R"("-1")", R"("1.5")", R"("")", R"("1 ")", "-1", "1.5", "null", R"("99999999999999999999")"}) {
    const std::string json =
        R"({"name": "x", "version": "1.0.0", "splits": [{"name": "t", "shardLengths": [)" +
        std::string(count) + "]}]}";
    EXPECT_EQ(WhyNoInfo(json), "dataset_info.json: splits.shardLengths: not a count") << count;
  }
  EXPECT_EQ(WhyNoInfo(R"({"name": "x", "version": "1.0.0", "splits": [
                       {"name": "t", "shardLengths": []}, {"name": "t", "shardLengths": []}]})"),
            "dataset_info.json: splits.name: 't' comes twice");
  EXPECT_EQ(WhyNoInfo("{").substr(0, 18), "dataset_info.json:");
}

TEST(TfdsTest, ShardNamesHaveFiveDigitsOrMore) {
  EXPECT_EQ(TfdsShardName("cc100_ja", "train", 0, 1024), "cc100_ja-train.tfrecord-00000-of-01024");
  EXPECT_EQ(TfdsShardName("x", "test", 99999, 100000), "x-test.tfrecord-099999-of-100000");
}

TEST(TfdsTest, ChecksNames) {
  for (const std::string_view name : {"cc100_ja", "x", "a1"}) EXPECT_TRUE(CheckTfdsName(name).ok()) << name;
  for (const std::string_view name : {"", "Cc100", "1a", "_a", "a-b", "a/b", "日本"})
    EXPECT_EQ(CheckTfdsName(name).code(), Code::kInvalidArgument) << name;
}

TEST(TfdsTest, ChecksVersions) {
  for (const std::string_view version : {"1.0.0", "0.0.0", "10.20.30"})
    EXPECT_TRUE(CheckTfdsVersion(version).ok()) << version;
  for (const std::string_view version : {"", "1", "1.0", "1.0.0.0", "1.0.", ".0.0", "01.0.0", "1.0.x",
                                         "1.*.*", "1.0.0 ", "1..0", "1.0.12345678901"})
    EXPECT_EQ(CheckTfdsVersion(version).code(), Code::kInvalidArgument) << version;
}

TEST(TfdsTest, ChecksSplits) {
  for (const std::string_view split : {"train", "validation", "test_2", "_x"})
    EXPECT_TRUE(CheckTfdsSplit(split).ok()) << split;
  for (const std::string_view split : {"", "all", "2nd", "a-b", "train[:1%]"})
    EXPECT_EQ(CheckTfdsSplit(split).code(), Code::kInvalidArgument) << split;
}

}  // namespace
}  // namespace pipeline
