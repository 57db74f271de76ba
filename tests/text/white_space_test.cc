#include "text/white_space.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/str.h"
#include "tests/text/utf8.h"
#include "text/code_point_set.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

std::string Collapsed(std::string text, std::size_t begin = 0) {
  CollapseWhiteSpace(text, begin);
  return text;
}

/// The table of stages/lines/normalize.md, 3, written out again.
std::set<char32_t> Table() {
  std::set<char32_t> table = {0x20, 0x7f, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff};
  for (char32_t c = 0; c < 0x20; ++c) table.insert(c);
  for (char32_t c = 0x80; c < 0xa0; ++c) table.insert(c);
  for (char32_t c = 0x2000; c <= 0x200a; ++c) table.insert(c);
  return table;
}

TEST(WhiteSpaceTest, ExactlyTheTableCollapses) {
  const std::set<char32_t> table = Table();
  for (char32_t c = 0; c < 0x11000; ++c) {
    if (0xd800 <= c && c < 0xe000) continue;
    const bool space = table.count(c) != 0;
    const std::string text = StrCat("x", Utf8(c), "x");
    ASSERT_EQ(Collapsed(text), space ? "x x" : text) << std::hex << static_cast<std::uint32_t>(c);
    ASSERT_EQ(StripWhiteSpace(Utf8(c)), space ? "" : Utf8(c)) << std::hex << static_cast<std::uint32_t>(c);
  }
}

TEST(WhiteSpaceTest, ARunOfAnyKindsIsOneSpace) {
  EXPECT_EQ(Collapsed("猫 \t\u3000\u00a0が\r\n鳴く"), "猫 が 鳴く");
  EXPECT_EQ(Collapsed("\0a\0\0b\0"s), " a b ");
  EXPECT_EQ(Collapsed("  "), " ");
  EXPECT_EQ(Collapsed(""), "");
}

TEST(WhiteSpaceTest, WhatIsInOrderStays) { EXPECT_EQ(Collapsed("a b 猫 c"), "a b 猫 c"); }

TEST(WhiteSpaceTest, BeforeBeginNothingChanges) { EXPECT_EQ(Collapsed("a  b  c", 4), "a  b c"); }

TEST(WhiteSpaceTest, ACharacterCutOffIsNone) {
  EXPECT_EQ(Collapsed("a\xe3\x80"), "a\xe3\x80");
  EXPECT_EQ(StripWhiteSpace("a\xc2"), "a\xc2");
}

TEST(WhiteSpaceTest, StripTakesBothEndsAndNothingElse) {
  EXPECT_EQ(StripWhiteSpace("\u3000\t 猫  が \u2003\ufeff"), "猫  が");
  EXPECT_EQ(StripWhiteSpace(" \u3000 "), "");
  EXPECT_EQ(StripWhiteSpace("\u200b"), "\u200b") << "zero width is not white";
}

TEST(CodePointSetTest, AnswersAlikeForCodePointsAndBytes) {
  CodePointSet set;
  for (const char32_t c : {U'a', U'é', U'猫', U'\uffff'}) set.Add(c);
  set.Add(U'犬');
  set.Remove(U'犬');
  for (char32_t c = 0; c < 0x11000; ++c) {
    if (0xd800 <= c && c < 0xe000) continue;
    const std::string text = StrCat(".", Utf8(c));
    ASSERT_EQ(set.MatchAt(text, 1), set.Has(c) ? Utf8(c).size() : 0u)
        << std::hex << static_cast<std::uint32_t>(c);
    ASSERT_EQ(Utf8Size(text[1]), text.size() - 1);
  }
  EXPECT_FALSE(set.Has(U'犬'));
  EXPECT_TRUE(set.Has(U'猫'));
}

}  // namespace
}  // namespace pipeline
