#include "text/pattern_set.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>

namespace pipeline {
namespace {

bool Matches(const std::vector<std::string>& patterns, std::string_view text) {
  const auto set = PatternSet::Make(patterns);
  EXPECT_TRUE(set.ok()) << set.status().message();
  return set.ok() && set->Match(text);
}

TEST(PatternSetTest, ALiteralIsFoundAnywhere) {
  for (const std::string_view text : {"続きを読む", "…続きを読む", "続きを読む…", "a続きを読むb"})
    EXPECT_TRUE(Matches({"続きを読む"}, text)) << text;
  for (const std::string_view text : {"", "続", "続きを", "続きを書く", "読む続きを"})
    EXPECT_FALSE(Matches({"続きを読む"}, text)) << text;
  EXPECT_FALSE(Matches({}, "anything"));
}

TEST(PatternSetTest, StarsStandForAnythingInOrder) {
  EXPECT_TRUE(Matches({"(c)*reserved"}, "Copyright (c) 2020 all rights reserved."));
  EXPECT_TRUE(Matches({"(c)*reserved"}, "(c)reserved"));
  EXPECT_FALSE(Matches({"(c)*reserved"}, "reserved (c)"));
  EXPECT_FALSE(Matches({"aba*ba"}, "aba")) << "pieces do not share letters";
  EXPECT_TRUE(Matches({"*aba**ba*"}, "ababa"));
}

TEST(PatternSetTest, EndsAreHeldWhereTheyAreNamed) {
  EXPECT_TRUE(Matches({"^目次"}, "目次と索引"));
  EXPECT_FALSE(Matches({"^目次"}, "本の目次"));
  EXPECT_TRUE(Matches({"目次$"}, "本の目次"));
  EXPECT_FALSE(Matches({"目次$"}, "目次と索引"));
  EXPECT_TRUE(Matches({"^目次$"}, "目次"));
  EXPECT_FALSE(Matches({"^目次$"}, "目次目次"));
  EXPECT_TRUE(Matches({"^a*b$"}, "acbb"));
  EXPECT_FALSE(Matches({"^a*b$"}, "acbc"));
  EXPECT_FALSE(Matches({"^aa*aa$"}, "aaa"));
  EXPECT_TRUE(Matches({"^*b"}, "ab")) << "a star behind ^ takes it back";
  EXPECT_TRUE(Matches({"a*$"}, "ab"));
  EXPECT_TRUE(Matches({"a^b$c"}, "xa^b$cx")) << "in the middle they are letters";
}

TEST(PatternSetTest, ABackslashTakesTheMeaningAway) {
  EXPECT_TRUE(Matches({"\\*\\^\\$\\\\"}, "a*^$\\b"));
  EXPECT_FALSE(Matches({"\\*"}, "abc"));
  EXPECT_TRUE(Matches({"\\^a"}, "b^a"));
  EXPECT_TRUE(Matches({"5\\$"}, "5$ each"));
}

TEST(PatternSetTest, WhatIsNoPatternIsNamed) {
  const auto why = [](const std::string& pattern) {
    const auto set = PatternSet::Make({"good", pattern});
    EXPECT_EQ(set.status().code(), Code::kInvalidArgument) << pattern;
    return std::string(set.status().message());
  };
  const std::string nothing = " names no text and would match too much; give it a text";
  EXPECT_EQ(why(""), "the pattern ''" + nothing);
  EXPECT_EQ(why("^"), "the pattern '^'" + nothing);
  EXPECT_EQ(why("^**$"), "the pattern '^**$'" + nothing);
  EXPECT_EQ(why("a\\"),
            "the pattern 'a\\' has a '\\' that does not stand before one of * ^ $ \\; write it twice to mean "
            "itself");
  EXPECT_NE(why("\\d+").find("'\\d+'"), std::string::npos);
}

// Random patterns over few letters against a search that tries everything.
TEST(PatternSetTest, AgreesWithRegularExpressions) {
  std::mt19937 random(3);
  const auto text = [&](std::size_t most, std::string_view letters) {
    std::string made(random() % (most + 1), '\0');
    for (char& c : made) c = letters[random() % letters.size()];
    return made;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> patterns;
    std::string expression;
    for (auto left = 1 + random() % 4; left > 0; --left) {
      const std::string body = text(5, random() % 2 == 0 ? "ab*" : "abc");
      const bool begin = random() % 4 == 0, end = random() % 4 == 0;
      const std::string pattern = (begin ? "^" : "") + body + (end ? "$" : "");
      if (!PatternSet::Make({pattern}).ok()) continue;
      patterns.push_back(pattern);
      if (!expression.empty()) expression += '|';
      expression += begin ? "^" : "";
      for (const char c : body) expression += c == '*' ? std::string("[^]*") : std::string(1, c);
      expression += end ? "$" : "";
    }
    if (patterns.empty()) continue;
    const std::regex regex(expression);
    for (int i = 0; i < 5; ++i) {
      const std::string line = text(14, "abc");
      ASSERT_EQ(Matches(patterns, line), std::regex_search(line, regex)) << expression << " in " << line;
    }
  }
}

TEST(PatternSetTest, ManyStarsAndNoMatchIsQuick) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "a*";
  EXPECT_FALSE(Matches({pattern + "b"}, std::string(1 << 20, 'a')));
}

}  // namespace
}  // namespace pipeline
