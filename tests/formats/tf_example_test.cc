#include "formats/tf_example.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/str.h"

namespace pipeline {
namespace {

using namespace std::string_view_literals;

// The examples of formats/tf_example.md; the bytes are what libprotobuf writes for them.
constexpr std::string_view kText = "\x0a\x11\x0a\x0f\x0a\x04text\x12\x07\x0a\x05\x0a\x03\xe7\x8c\xab"sv;
constexpr std::string_view kAll =
    "\x0a\x48"
    "\x0a\x0d\x0a\x01\x61\x12\x08\x0a\x06\x0a\x00\x0a\x02\x00\xff"
    "\x0a\x18\x0a\x03ids\x12\x11\x1a\x0f\x0a\x0d\x01\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    "\x0a\x0a\x0a\x04none\x12\x02\x1a\x00"
    "\x0a\x11\x0a\x01\x77\x12\x0c\x12\x0a\x0a\x08\x00\x00\x00\x3f\x00\x00\x00\xc0"sv;

TfExample All() {
  return {{"w", TfFloatList{0.5f, -2.0f}},
          {"ids", TfInt64List{1, 300, -1}},
          {"a", TfBytesList{"", "\x00\xff"sv}},
          {"none", TfInt64List{}}};
}

std::string Write(const TfExample& example) {
  std::string out;
  AppendTfExample(out, example);
  return out;
}

std::string Sub(char tag, std::string_view bytes) {
  return std::string(1, tag) + static_cast<char>(bytes.size()) + std::string(bytes);
}

/// An example with one feature "k", given as the bytes of its Feature message.
std::string WithFeature(std::string_view feature) {
  return Sub('\x0a', Sub('\x0a', Sub('\x0a', "k") + Sub('\x12', feature)));
}

TfFeature FeatureOf(std::string_view feature) {
  // The values of the features below are numbers: nothing refers to the text.
  const std::string bytes = WithFeature(feature);
  const auto example = ParseTfExample(bytes);
  EXPECT_TRUE(example.ok()) << example.status().message();
  return example.ok() ? example->at("k") : TfFeature();
}

std::string WhyNoExample(std::string_view bytes) {
  const auto example = ParseTfExample(bytes);
  if (example.ok()) return "it is one";
  EXPECT_EQ(example.status().code(), Code::kDataLoss);
  return std::string(example.status().message());
}

TEST(TfExampleTest, WritesTheDocumentedBytes) {
  EXPECT_EQ(Write({{"text", TfBytesList{"猫"}}}), kText);
  EXPECT_EQ(Write(All()), kAll);
}

TEST(TfExampleTest, ReadsTheDocumentedBytes) {
  const auto example = ParseTfExample(kAll);
  ASSERT_TRUE(example.ok()) << example.status().message();
  EXPECT_EQ(*example, All());
}

TEST(TfExampleTest, TextIsTheSameBytesAndTheForetoldNumberAtEverySize) {
  // Around each size at which a length grows by a byte, on every level of nesting.
  for (std::size_t size = 0; size < 400; ++size) {
    const std::string text(size, 'x');
    std::string fast;
    AppendTextExample(fast, "text", text);
    EXPECT_EQ(fast, Write({{"text", TfBytesList{text}}})) << size;
    EXPECT_EQ(fast.size(), TextExampleSize("text", text)) << size;
  }
  for (std::size_t size = 16'300; size < 16'400; ++size) {
    const std::string text(size, 'x');
    std::string fast;
    AppendTextExample(fast, "text", text);
    EXPECT_EQ(fast, Write({{"text", TfBytesList{text}}})) << size;
    EXPECT_EQ(fast.size(), TextExampleSize("text", text)) << size;
  }
}

TEST(TfExampleTest, ExtremeNumbersComeBack) {
  const TfExample example = {{"i", TfInt64List{0, 127, 128, std::numeric_limits<std::int64_t>::min(),
                                               std::numeric_limits<std::int64_t>::max()}},
                             {"f", TfFloatList{0.0f, -0.0f, std::numeric_limits<float>::infinity(), 1e-45f}}};
  const std::string bytes = Write(example);
  const auto back = ParseTfExample(bytes);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, example);
}

TEST(TfExampleTest, NumbersMayComeOneByOneOrPackedOrBoth) {
  EXPECT_EQ(FeatureOf("\x1a\x08\x08\x01\x0a\x02\x02\x03\x08\x04"), TfFeature(TfInt64List{1, 2, 3, 4}));
  EXPECT_EQ(FeatureOf("\x12\x0b\x0d\x00\x00\x00\x3f\x0a\x04\x00\x00\x00\xc0"sv),
            TfFeature(TfFloatList{0.5f, -2.0f}));
}

TEST(TfExampleTest, ALongerVarintThanNeededIsANumber) {
  EXPECT_EQ(FeatureOf("\x1a\x04\x08\x81\x80\x00"sv), TfFeature(TfInt64List{1}));
}

TEST(TfExampleTest, OfTwoKindsTheLastOneCountsAndOneKindGoesOn) {
  EXPECT_EQ(FeatureOf("\x0a\x03\x0a\x01x\x1a\x02\x08\x05"), TfFeature(TfInt64List{5}));
  EXPECT_EQ(FeatureOf("\x1a\x02\x08\x05\x1a\x02\x08\x06"), TfFeature(TfInt64List{5, 6}));
}

TEST(TfExampleTest, OfTwoEntriesWithOneKeyTheLastOneCounts) {
  const std::string first = Sub('\x0a', Sub('\x0a', "k") + Sub('\x12', "\x1a\x02\x08\x05"));
  const std::string second = Sub('\x0a', Sub('\x0a', "k") + Sub('\x12', "\x1a\x02\x08\x06"));
  const std::string together = Sub('\x0a', first + second);
  const std::string apart = Sub('\x0a', first) + Sub('\x0a', second);
  for (const std::string& bytes : {together, apart}) {
    const auto example = ParseTfExample(bytes);
    ASSERT_TRUE(example.ok());
    EXPECT_EQ(*example, (TfExample{{"k", TfInt64List{6}}}));
  }
}

TEST(TfExampleTest, AnEntryMayLackKeyOrValue) {
  const auto no_value = ParseTfExample("\x0a\x05\x0a\x03\x0a\x01k");
  ASSERT_TRUE(no_value.ok());
  ASSERT_EQ(no_value->count("k"), 1u);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(no_value->at("k")));
  EXPECT_EQ(Write(*no_value), "\x0a\x07\x0a\x05\x0a\x01k\x12\x00"sv);
  const auto neither = ParseTfExample("\x0a\x02\x0a\x00"sv);
  ASSERT_TRUE(neither.ok());
  EXPECT_EQ(neither->count(""), 1u);
}

TEST(TfExampleTest, NothingIsAnEmptyExample) {
  const auto example = ParseTfExample("");
  ASSERT_TRUE(example.ok());
  EXPECT_TRUE(example->empty());
}

TEST(TfExampleTest, UnknownFieldsArePassedOver) {
  const std::string unknown =
      "\x10\x96\x01"                          // field 2, varint
      "\x19\x01\x02\x03\x04\x05\x06\x07\x08"  // field 3, 8 bytes
      "\x25\x01\x02\x03\x04"                  // field 4, 4 bytes
      "\x7a\x03xyz"                           // field 15, bytes
      "\x08\x01";                             // field 1 with a wire type that it does not have
  const std::string list = Sub('\x1a', "\x08\x05" + unknown.substr(0, 3));
  const std::string entry = StrCat(Sub('\x0a', "k"), "\x18\x01", Sub('\x12', "\x20\x01" + list));
  const std::string bytes = unknown + Sub('\x0a', unknown + Sub('\x0a', entry));
  const auto example = ParseTfExample(bytes);
  ASSERT_TRUE(example.ok()) << example.status().message();
  EXPECT_EQ(*example, (TfExample{{"k", TfInt64List{5}}}));
}

TEST(TfExampleTest, CutAnywhereItIsNoExample) {
  for (std::size_t size = 1; size < kAll.size(); ++size)
    EXPECT_NE(WhyNoExample(kAll.substr(0, size)), "it is one") << size;
}

TEST(TfExampleTest, RefusalsNameTheOffsetAndTheReason) {
  EXPECT_EQ(WhyNoExample("\x0a\x05\x0a"),
            "not a tf.train.Example: offset 2: a length reaches beyond its message");
  EXPECT_EQ(WhyNoExample("\x80"), "not a tf.train.Example: offset 0: a number is cut off");
  EXPECT_EQ(WhyNoExample("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
            "not a tf.train.Example: offset 1: a number has more than 64 bits");
  EXPECT_EQ(WhyNoExample("\x25\x01\x02"), "not a tf.train.Example: offset 1: a number is cut off");
  EXPECT_EQ(WhyNoExample("\x02\x01"), "not a tf.train.Example: offset 1: no field has such a number");
  EXPECT_EQ(WhyNoExample("\x0b"), "not a tf.train.Example: offset 1: unknown wire type");
  EXPECT_EQ(WhyNoExample(WithFeature("\x12\x05\x0a\x03\x01\x02\x03")),
            "not a tf.train.Example: offset 13: a number is cut off");
}

TEST(TfExampleTest, ALengthThatOverflowsIsRefused) {
  EXPECT_EQ(WhyNoExample("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xx"),
            "not a tf.train.Example: offset 11: a length reaches beyond its message");
}

TEST(TfExampleTest, JsonHasTheFeaturesByName) {
  const TfExample example = {{"none", std::monostate()},
                             {"text", TfBytesList{"猫"}},
                             {"texts", TfBytesList{"a", "\xff"}},
                             {"numbers", TfInt64List{7}},
                             {"weights", TfFloatList{0.5F}}};
  EXPECT_EQ(ToJson(example).Dump(),
            R"({"none":null,"numbers":[7],"text":"猫","texts":["a",{"base64":"/w=="}],"weights":[0.5]})");
}

}  // namespace
}  // namespace pipeline
