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

TEST(LooseJsonTest, LoneSurrogatesOfAnyStringCanBeReplaced) {
  const auto whole = [](std::string_view object) {
    return WithoutLoneSurrogates(object).value_or("as it was");
  };
  EXPECT_EQ(whole(R"({"text":"a\ud83d","\udc00":[NaN,"\ud83d\ude00"]})"),
            R"({"text":"a\ufffd","\ufffd":[NaN,"\ud83d\ude00"]})");
  EXPECT_EQ(whole(R"({"text":"\ud83d\ud83d\ude00\ude00"})"), R"({"text":"\ufffd\ud83d\ude00\ufffd"})");
  for (const std::string_view text : {"", "{", R"({"text":"\\ud800 \u00e9"})", R"({"a":"\ud8)", R"("\u)"})
    EXPECT_EQ(whole(text), "as it was") << text;
}

TEST(LooseJsonTest, TheFormOfARowThatIsNoObjectIsTold) {
  const auto form = [](std::string_view row) { return FormOfNoObject(row, false); };
  EXPECT_EQ(form(R"( [{"a": 1}, {"a": 2}])"),
            "begins with `[`: a JSON array, not one object a line; `jq -c '.[]' FILE` makes lines of it");
  EXPECT_EQ(form("["), form("[1]"));
  EXPECT_EQ(form(R"({"a": "}\"{"} {"a": 2})"),
            "behind the object at byte 14 another one stands; `jq -c . FILE` makes a line of each");
  EXPECT_EQ(
      form(R"({"a": [{"b": 1}]},)"),
      "behind the object at byte 17 a comma stands, as in an array; `sed 's/,[[:space:]]*$//' FILE` removes "
      "it at the ends of lines");
  EXPECT_EQ(form("{} x"), "behind the object at byte 3 other text stands");
  EXPECT_EQ(
      form("{"),
      "the object does not end in this line; if those of the file take several lines, `jq -c . FILE` makes a "
      "line of each");
  EXPECT_EQ(form(R"({"version": 1, "all data": [ {"text": "a"}, {"te)"),
            "'all data' is a list of objects: `jq -c '.[\"all data\"][]' FILE` makes lines of it");
  EXPECT_EQ(FormOfNoObject(R"({"text": "a long)", true), "");
  for (const std::string_view row : {"", "text", "\"a\"", "}"})
    EXPECT_EQ(form(row), "does not begin with `{`") << row;
  EXPECT_EQ(form("{'text': 'a'}"),
            "names stand in single quotes, as Python prints them: write the rows with `json.dumps`");
  EXPECT_EQ(form("\x1e{\"text\": 1}"), "begins with the byte 1E: `tr -d '\\036' < FILE` removes it");
  EXPECT_EQ(form("{\"text\": \"a\tb\"}"),
            "a TAB or another control character stands in a string, which JSON writes as \\t or \\u0009");
  for (const std::string_view row : {"{nan}", "{\"a\":\t\"b\", \"a\": \"\\\"c\"}"})
    EXPECT_EQ(form(row), "") << row;
}

TEST(LooseJsonTest, AMemberThatListsObjectsIsFound) {
  EXPECT_EQ(ListOfObjectsIn(R"({"version": "1.1", "n": 5, "x": {"y": [{}]}, "data": [{"q": 0}]})"), "data");
  for (const std::string_view row :
       {"", "{", "{}", "[{}]", R"({"a": [1, {}]})", R"({"a" [{}]})", R"({"a": [)"})
    EXPECT_EQ(ListOfObjectsIn(row), "") << row;
  EXPECT_EQ(ListAdvice("data"), "'data' is a list of objects: `jq -c '.data[]' FILE` makes lines of it");
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
