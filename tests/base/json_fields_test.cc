#include "base/json_fields.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pipeline {

struct Inner {
  std::string name;
  std::uint64_t size = 0;
  bool operator==(const Inner&) const = default;
};

struct Outer {
  std::string text;
  std::uint32_t crc = 0;
  int code = 0;
  std::vector<Inner> list;
  std::map<std::string, Inner, std::less<>> by_name;
  std::optional<std::uint64_t> need;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::map<std::string, double> seconds;
  bool flag = false;
  bool shown = false;
  bool operator==(const Outer&) const = default;
};

template <class Fields, Of<Inner> T>
void ListFields(Fields& fields, T& inner) {
  fields.Required("name", inner.name).Required("size", inner.size);
}

template <class Fields, Of<Outer> T>
void ListFields(Fields& fields, T& outer) {
  fields.Required("text", outer.text).RequiredHex32("crc", outer.crc).Required("code", outer.code);
  fields.Required("list", outer.list).Required("by_name", outer.by_name).Optional("need", outer.need);
  fields.Required("pairs", outer.pairs).Loose("seconds", outer.seconds).Loose("flag", outer.flag);
  fields.Written("shown", outer.shown);
}

struct Told {
  std::string text;
  std::int64_t at = 0;
  std::uint32_t mark = 0;
  double seconds = 0;
  std::vector<std::string> names;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> parts;
  std::optional<Inner> inner;
  Json config;
};

template <class Fields, Of<Told> T>
void ListFields(Fields& fields, T& told) {
  fields.Written("text", told.text)
      .Loose("at", told.at)
      .Loose("mark", told.mark)
      .Loose("seconds", told.seconds);
  fields.Loose("names", told.names).Loose("parts", told.parts).Loose("inner", told.inner);
  fields.Loose("config", told.config);
}

namespace {

constexpr std::string_view kText =
    R"({"by_name":{"b":{"name":"x","size":1}},"code":3,"crc":"0000002a","flag":true,)"
    R"("list":[{"name":"a","size":2}],"need":0,"pairs":[["k","v"]],"seconds":{"s":0.123457},"shown":false,)"
    R"("text":"t"})";

Outer Full() {
  return {"t", 42, 3, {{"a", 2}}, {{"b", {"x", 1}}}, 0, {{"k", "v"}}, {{"s", 0.1234567}}, true, false};
}

/// Returns the message of the first failure; empty: there is none.
std::string Refusal(std::string_view text) {
  Status status;
  const Json json = Json::Parse(text).value();
  JsonFields fields(json, "", status);
  Outer outer;
  ListFields(fields, outer);
  return std::string(status.message());
}

std::string Replaced(std::string_view from, std::string_view to) {
  std::string text(kText);
  return text.replace(text.find(from), from.size(), to);
}

TEST(JsonFieldsTest, OneListWritesAndReads) {
  EXPECT_EQ(JsonWriter::ValueOf(Full()).Dump(), kText);
  Status status;
  const Json json = Json::Parse(kText).value();
  JsonFields fields(json, "", status);
  Outer outer;
  ListFields(fields, outer);
  EXPECT_TRUE(status.ok()) << status.message();
  Outer expected = Full();
  expected.seconds["s"] = 0.123457;
  EXPECT_EQ(outer, expected);
}

TEST(JsonFieldsTest, MembersThatAreEmptyOrZeroAreLeftOut) {
  EXPECT_EQ(JsonWriter::ValueOf(Outer()).Dump(),
            R"({"by_name":{},"code":0,"crc":"00000000","list":[],"pairs":[],"shown":false,"text":""})");
  EXPECT_EQ(JsonWriter::ValueOf(Told()).Dump(), R"({"text":""})");
}

TEST(JsonFieldsTest, StrictMembersAreNamed) {
  EXPECT_EQ(Refusal(Replaced("\"code\":3,", "")), "code: missing");
  EXPECT_EQ(Refusal(Replaced("\"size\":2", "\"size\":-2")), "list[0].size: not a whole number");
  EXPECT_EQ(Refusal(Replaced("{\"name\":\"a\",\"size\":2}", "5")), "list[0]: not an object");
  EXPECT_EQ(Refusal(Replaced("\"name\":\"x\"", "\"name\":1")), "by_name.b.name: not a string");
  EXPECT_EQ(Refusal(Replaced("{\"name\":\"x\",\"size\":1}", "5")), "by_name.b: not an object");
  EXPECT_EQ(Refusal(Replaced("\"need\":0", "\"need\":\"much\"")), "need: not a whole number");
  EXPECT_EQ(Refusal(Replaced("\"need\":0,", "")), "");
  EXPECT_EQ(Refusal(Replaced("[[\"k\",\"v\"]]", "[[\"k\"]]")), "pairs: not pairs of texts");
}

TEST(JsonFieldsTest, LooseMembersOfAnotherKindAreEmpty) {
  const Json json = Json::Parse(R"({"text":1,"at":"x","mark":4294967297,"seconds":-2,"names":[1,"b"],)"
                                R"("parts":{"a":[1,2],"b":[1]},"config":"x"})")
                        .value();
  const Told told = JsonFields::ReadLoosely<Told>(json);
  EXPECT_EQ(told.text, "");
  EXPECT_EQ(told.at, 0);
  EXPECT_EQ(told.mark, UINT32_MAX);
  EXPECT_EQ(told.seconds, 0);
  EXPECT_EQ(told.names, (std::vector<std::string>{"", "b"}));
  EXPECT_EQ(told.parts.size(), 1u);
  EXPECT_FALSE(told.inner);
  EXPECT_TRUE(told.config.is_null());
}

}  // namespace

}  // namespace pipeline
