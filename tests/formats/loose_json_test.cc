#include "formats/loose_json.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/json.h"

namespace pipeline {
namespace {

const std::vector<std::string> kWanted = {"text", "label"};

std::string Strict(std::string_view object) {
  return StrictInUnwanted(object, kWanted).value_or("as it was");
}

TEST(LooseJsonTest, NumbersThatJsonHasNotBecomeNull) {
  EXPECT_EQ(Strict(R"({"score": NaN, "text": "a"})"), R"({"score": null, "text": "a"})");
  EXPECT_EQ(Strict(R"({"a":[1,-Infinity,{"text":Infinity}],"text":"NaN"})"),
            R"({"a":[1,null,{"text":null}],"text":"NaN"})");
}

TEST(LooseJsonTest, NumbersThatNoDoubleHoldsBecomeNull) {
  EXPECT_EQ(Strict(R"({"a": 1e999, "b": [-2.5E+400], "text": "a"})"),
            R"({"a": null, "b": [null], "text": "a"})");
  EXPECT_EQ(Strict(R"({"a": 1e-999, "b": 1e308, "c": 123456789012345678901234567890, "d": -0})"),
            "as it was");
  EXPECT_EQ(Strict(R"({"text": 1e999})"), "as it was");
  for (const std::string_view text :
       {R"({"a": 01e999})", R"({"a": 1.e999})", R"({"a": 1e999e})", R"({"a": .1e999})"})
    EXPECT_FALSE(Json::Parse(StrictInUnwanted(text, kWanted).value_or(std::string(text))).ok()) << text;
}

TEST(LooseJsonTest, LoneSurrogatesBecomeReplacementCharacters) {
  EXPECT_EQ(Strict(R"({"name":"\ud83d","text":"a"})"), R"({"name":"\ufffd","text":"a"})");
  EXPECT_EQ(Strict(R"({"name":"\ud83d\ude00 \ude00 \\ud83d","text":"a"})"),
            R"({"name":"\ud83d\ude00 \ufffd \\ud83d","text":"a"})");
  EXPECT_EQ(Strict(R"({"name":["\uD83D\n",{"x":"\udc00"}]})"), R"({"name":["\ufffd\n",{"x":"\ufffd"}]})");
}

TEST(LooseJsonTest, WantedMembersStayAsTheyAre) {
  EXPECT_EQ(Strict(R"({"text":"\ud83d"})"), "as it was");
  EXPECT_EQ(Strict(R"({"label":NaN})"), "as it was");
  EXPECT_EQ(Strict(R"({"te\u0078t":NaN})"), "as it was");  // its name may be a wanted one
  EXPECT_EQ(Strict(R"({"x":NaN,"text":"\ud83d"})"), R"({"x":null,"text":"\ud83d"})");
}

TEST(LooseJsonTest, AnythingElseStaysAsItIs) {
  for (const std::string_view text :
       {"", "{", "{\"a", "{\"a\":\"\\", "NaN", "[NaN]", "}}}", "{\"a\":\"\\ud8", "{\"a\" NaN"})
    EXPECT_EQ(Strict(text), "as it was") << text;
  EXPECT_EQ(Strict(R"({"a":"b","text":"NaN"})"), "as it was");
  EXPECT_EQ(Strict(R"({"NaN":1,"\ud83d":2})"), "as it was");
}

TEST(LooseJsonTest, AStrictParserTakesTheResult) {
  const std::string text =
      Strict(R"({"id": 7, "scores": [NaN, 1.5], "user": {"name": "x\udfff"}, "text": "あ"})");
  const Result<Json> json = Json::Parse(text);
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ((*json)["text"].AsString(), "あ");
}

}  // namespace
}  // namespace pipeline
