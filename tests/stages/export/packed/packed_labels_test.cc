#include "stages/export/packed/packed_labels.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/stages/export/packed/packed_corpus.h"

namespace pipeline {
namespace {

std::string WhyNoLabels(const std::vector<PackedLabel>& labels) {
  const Status status = CheckPackedLabels(labels, PipeTokenizer("a model"));
  EXPECT_TRUE(status.ok() || status.code() == Code::kInvalidArgument);
  return std::string(status.message());
}

constexpr std::string_view kByOneId =
    "trainers decide by the first id behind those with which all names begin; choose names whose first "
    "pieces "
    "differ";

TEST(PackedLabelsTest, NamesThatDifferBehindTheirCommonIdsAreAccepted) {
  EXPECT_EQ(WhyNoLabels({{"no", {10}}, {"yes", {11}}}), "");
  EXPECT_EQ(WhyNoLabels({{"no", {9, 10}}, {"yes", {9, 11, 12}}, {"perhaps", {9, 13}}}), "");
  EXPECT_EQ(WhyNoLabels({{"no", {10, 9}}, {"yes", {11, 9}}}), "") << "what comes behind may be the same";
}

TEST(PackedLabelsTest, TheIdBehindTheCommonOnesTellsNamesApart) {
  EXPECT_EQ(WhyNoLabels({{"fine", {10, 11}}, {"bad", {12}}, {"good", {10, 13}}}),
            "labels: 'fine' and 'good' have the same id 0, 10: " + std::string(kByOneId));
  EXPECT_EQ(WhyNoLabels({{"a b", {9, 10, 11}}, {"a c", {9, 12}}, {"a b c", {9, 10, 12}}}),
            "labels: 'a b' and 'a b c' have the same id 1, 10: " + std::string(kByOneId));
  EXPECT_EQ(WhyNoLabels({{"good", {10, 11}}, {"go", {10}}}),
            "labels: 'go' ends where 'good' goes on: " + std::string(kByOneId));
}

TEST(PackedLabelsTest, EachNameHasIdsOfItsOwn) {
  EXPECT_EQ(WhyNoLabels({{"no", {10}}}),
            "labels: 1 name, and there is nothing to choose among fewer than two; name all labels");
  EXPECT_EQ(WhyNoLabels({{"no", {10}}, {"yes", {}}}),
            "labels: 'yes' has no ids: its tokenizer sees no text in it; choose another name");
  EXPECT_EQ(
      WhyNoLabels({{"no", {10}}, {"yes", {11, 3}}}),
      "labels: 'yes' has text for which the tokenizer has no piece, so that its ids do not give the name; "
      "choose another name, or a tokenizer with `byte_fallback: true`");
  EXPECT_EQ(WhyNoLabels({{"no", {10}}, {"yes", {11, 2}}}),
            "labels: 'yes' has the id that ends documents; choose another name");
  EXPECT_EQ(WhyNoLabels({{"no", {10}}, {"yes", {512}}}),
            "labels: 'yes' has the id 512 where the tokenizer has 512 pieces");
  EXPECT_EQ(WhyNoLabels({{"no", {10}}, {"No", {10}}}),
            "labels: 'no' and 'No' have the same ids; choose names that the tokenizer tells apart");
  EXPECT_EQ(WhyNoLabels({{"no", {10}}, {"no", {11}}}), "labels: 'no' comes twice");
}

TEST(PackedLabelsTest, ATokenizerWithoutUnknownIdsHasNoneInItsNames) {
  TokenizerFacts facts = PipeTokenizer("a model");
  facts.unk_id = -1;
  EXPECT_TRUE(CheckPackedLabels({{"no", {3}}, {"yes", {11}}}, facts).ok());
}

TEST(PackedLabelsTest, ReadsWhatItWrote) {
  const std::vector<PackedLabel> labels = {{"いいえ", {300, 301}}, {"はい", {302}}};
  const Json json = PackedLabelsJson(labels);
  EXPECT_EQ(json.Dump(), R"([{"ids":[300,301],"name":"いいえ"},{"ids":[302],"name":"はい"}])");
  const auto read = PackedLabelsFromJson(json);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, labels);
}

TEST(PackedLabelsTest, NamesTheWrongElement) {
  const auto why_not = [](std::string_view text) {
    return std::string(PackedLabelsFromJson(*Json::Parse(text)).status().message());
  };
  EXPECT_EQ(why_not(R"({"no":[1]})"), "labels: not a list");
  EXPECT_EQ(why_not(R"([{"name":"no","ids":[1]},{"name":"yes"}])"), "labels[1].ids: missing");
  EXPECT_EQ(why_not(R"([{"name":"no","ids":[1,-1]}])"), "labels[0].ids[1]: -1, no id");
  EXPECT_EQ(why_not(R"([{"name":"no","ids":[4294967296]}])"), "labels[0].ids[0]: 4294967296, no id");
}

}  // namespace
}  // namespace pipeline
