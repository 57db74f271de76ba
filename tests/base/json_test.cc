#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pipeline {
namespace {

std::string Canonical(std::string_view text) {
  const Result<Json> parsed = Json::Parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? parsed->Dump() : "";
}

TEST(JsonTest, EqualValuesAreEqualText) {
  EXPECT_EQ(Canonical(" { \"b\" : [ 1 , -2.50 , true , null ] ,\n\"a\":{\"z\":\"\\u3042\",\"A\":{} } } "),
            "{\"a\":{\"A\":{},\"z\":\"\xe3\x81\x82\"},\"b\":[1,-2.5,true,null]}");
}

TEST(JsonTest, ComesBackAsItWas) {
  for (const char* text : {"null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808",
                           "0.1", "1e+300", "-0.0", "1.0", "5e-324", "\"\"", "\"\\\"\\\\\\n\\u0000\\u001f\"",
                           "[]", "{}", "[[],[{}]]", "{\"\":0}", "\"\xf0\x9f\x98\x80\""}) {
    EXPECT_EQ(Canonical(text), text);
    const Json value = Json::Parse(text).value();
    EXPECT_EQ(Json::Parse(value.DumpPretty()).value(), value) << text;
  }
}

TEST(JsonTest, IntegersAndDoublesStayApart) {
  EXPECT_TRUE(Json::Parse("1")->is_int());
  EXPECT_FALSE(Json::Parse("1.0")->is_int());
  EXPECT_FALSE(Json::Parse("1e2")->is_int());
  EXPECT_EQ(Canonical("1e2"), "100.0");
  EXPECT_FALSE(Json::Parse("9223372036854775808")->is_int());
  EXPECT_TRUE(Json::Parse("9223372036854775808")->is_number());
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).Dump(), "null");
}

TEST(JsonTest, OtherKindsGiveTheFallback) {
  const Json value = Json::Parse("{\"s\":\"x\",\"n\":3,\"d\":1.5,\"a\":[1],\"b\":true}").value();
  EXPECT_EQ(value["s"].AsString(), "x");
  EXPECT_EQ(value["s"].AsInt(7), 7);
  EXPECT_EQ(value["n"].AsInt(), 3);
  EXPECT_EQ(value["n"].AsDouble(), 3.0);
  EXPECT_EQ(value["d"].AsInt(7), 7);
  EXPECT_EQ(value["b"].AsBool(), true);
  EXPECT_EQ(value["n"].AsString("none"), "none");
  EXPECT_EQ(value["a"].AsArray().size(), 1u);
  EXPECT_TRUE(value["a"].AsObject().empty());
  EXPECT_TRUE(value["absent"]["deeper"].is_null());
  EXPECT_TRUE(value.Has("s"));
  EXPECT_FALSE(value.Has("absent"));
}

TEST(JsonTest, BuildsFromNothing) {
  Json value;
  value["b"]["c"] = 1;
  value["a"].Append("x");
  value["a"].Append(2.0);
  EXPECT_EQ(value.Dump(), "{\"a\":[\"x\",2.0],\"b\":{\"c\":1}}");
  EXPECT_EQ(value.DumpPretty(),
            "{\n  \"a\": [\n    \"x\",\n    2.0\n  ],\n  \"b\": {\n    \"c\": 1\n  }\n}\n");
}

TEST(JsonTest, SaysWhereAndWhatIsWrong) {
  const struct {
    std::string_view text;
    const char* where;
    const char* why;
  } cases[] = {
      {"", "column 0: ", "unexpected end of input"},
      {"{\"a\":1,\n \"b\" 2}", "line 2, column 7: ", "expected ':'"},
      {"[1,\n2,\n]", "line 3, column 1: ", "unexpected ']'"},
      {"[1] x", "column 5: ", "expected end of input"},
      {"{\"a\":1,\n\"a\":2}", "line 2, column 3: ", "the key \"a\" is there twice"},
      {"\"\\ud800\"", "column ", "surrogate"},
      {"\"\xff\"", "column 2: ", "ill-formed UTF-8"},
      {"\"\xed\xa0\x80\"", "column 3: ", "ill-formed UTF-8"},
      {"1e999", "column 5: ", "overflow"},
      {"NaN", "column 1: ", "invalid literal"},
      {"// no comments\n1", "line 1, column 1: ", "invalid literal"},
      {std::string_view("{}\n\0x", 5), "line 2, column 0: ", "a NUL byte"},
      {std::string_view("\0", 1), "column ", "unexpected end of input"},
  };
  for (const auto& test : cases) {
    const Result<Json> parsed = Json::Parse(test.text);
    ASSERT_FALSE(parsed.ok()) << test.text;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
    const std::string_view message = parsed.status().message();
    EXPECT_EQ(message.substr(0, std::string_view(test.where).size()), test.where) << message;
    EXPECT_NE(message.find(test.why), std::string_view::npos) << message;
    EXPECT_EQ(message.find("json.exception"), std::string_view::npos) << message;
  }
}

TEST(JsonTest, AnErrorDoesNotRepeatALongInput) {
  const std::string text = "\"" + std::string(100'000, 'x');
  EXPECT_LT(Json::Parse(text).status().message().size(), 200u);
}

TEST(JsonTest, NestingHasALimit) {
  const std::string deepest = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(Canonical(deepest), deepest);
  const Status too_deep = Json::Parse("[" + deepest + "]").status();
  EXPECT_EQ(too_deep.code(), Code::kInvalidArgument);
  EXPECT_EQ(too_deep.message(), "column 65: nested deeper than 64 levels");
  EXPECT_FALSE(Json::Parse(std::string(1'000'000, '[')).ok());
}

TEST(JsonTest, BytesThatAreNoTextBecomeReplacementCharacters) {
  std::string out = "x";
  AppendJsonString(out, "a\xff\n");
  EXPECT_EQ(out, "x\"a\xef\xbf\xbd\\n\"");
}

TEST(JsonTest, ALongStringIsEscapedAsAShortOne) {
  for (const std::string_view unit :
       {"猫", "𝄞", "a\n\"", "é\x01", "\xff", "\x80\x80\x80\x80\x80", "\xe7\x8c"}) {
    std::string unit_out, out, expected = "\"", text;
    AppendJsonString(unit_out, unit);
    for (int i = 0; i < 70'000; ++i) {
      text += unit;
      expected.append(unit_out, 1, unit_out.size() - 2);
    }
    AppendJsonString(out, text);
    EXPECT_TRUE(out == expected + "\"") << unit_out;
  }
}

TEST(JsonTest, ParseMembersKeepsWhatIsNamed) {
  const std::vector<std::string> names = {"text", "label"};
  const auto row = Json::ParseMembers(
      R"({"id": [1, {"text": "no"}], "text": "猫", "x": {"label": 5, "text": [1]}, "label": [[1], 2], "y": 1})",
      names);
  ASSERT_TRUE(row.ok()) << row.status().message();
  EXPECT_EQ(row->Dump(), R"({"label":[],"text":"猫"})");
  EXPECT_EQ(Json::ParseMembers(R"({"a": {"text": 1}, "a": 2})", names)->Dump(), "{}");
  EXPECT_FALSE(Json::ParseMembers(R"({"text": "a", "text": "b"})", names).ok());
  EXPECT_FALSE(Json::ParseMembers("[1, 2]", names).ok());
  EXPECT_FALSE(Json::ParseMembers("\"text\"", names).ok());
  EXPECT_FALSE(Json::ParseMembers(R"({"text": "a"} x)", names).ok());
  EXPECT_FALSE(
      Json::ParseMembers("{\"a\": " + std::string(70, '[') + std::string(70, ']') + "}", names).ok());
  EXPECT_FALSE(Json::ParseMembers(R"({"text": "\ud800"})", names).ok());
}

}  // namespace
}  // namespace pipeline
