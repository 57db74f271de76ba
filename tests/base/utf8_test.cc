#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "text/utf8.h"

namespace pipeline {
namespace {

TEST(Utf8CharacterTest, HasOneToFourBytes) {
  EXPECT_EQ(Utf8CharacterBytes("a"), 1u);
  EXPECT_EQ(Utf8CharacterBytes(std::string_view("\0", 1)), 1u);
  EXPECT_EQ(Utf8CharacterBytes("é."), 2u);
  EXPECT_EQ(Utf8CharacterBytes("猫."), 3u);
  EXPECT_EQ(Utf8CharacterBytes("\U0001F408."), 4u);
}

TEST(Utf8CharacterTest, OverlongFormsSurrogatesAndTornOnesAreNone) {
  for (const std::string_view bad :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF",
        "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE7\x8C",
        "\xC3", "\xF0\x9F\x90"}) {
    EXPECT_EQ(Utf8CharacterBytes(bad), 0u) << Printable(bad);
    EXPECT_FALSE(IsUtf8(bad));
  }
}

TEST(Utf8FrontTest, IsCutBetweenCharacters) {
  EXPECT_EQ(Utf8Front("猫が", 6), "猫が");
  EXPECT_EQ(Utf8Front("猫が", 5), "猫");
  EXPECT_EQ(Utf8Front("猫が", 2), "");
  EXPECT_EQ(Utf8Front("\x80\x80\x80", 2), "") << "no character begins there";
}

TEST(TakeUtf8CharacterTest, AByteThatBeginsNoCharacterIsOne) {
  std::string_view text = "a猫\xE7\x8C";
  EXPECT_EQ(TakeUtf8Character(text), U'a');
  EXPECT_EQ(TakeUtf8Character(text), U'猫');
  EXPECT_EQ(TakeUtf8Character(text), U'\uFFFD');
  EXPECT_EQ(text, "\x8C");
}

/// The fast check of records agrees, but for NUL.
TEST(Utf8CharacterTest, AgreesWithTheTextOfRecords) {
  for (unsigned first = 0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second)
      for (const std::string_view tail : {"", "\x80", "\xBF\x80", "a"}) {
        std::string text = {static_cast<char>(first), static_cast<char>(second)};
        text += tail;
        if (text.find('\0') != std::string::npos) continue;
        EXPECT_EQ(IsUtf8(text), IsCleanUtf8(text)) << first << ' ' << second << ' ' << tail.size();
      }
  EXPECT_TRUE(IsUtf8(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace pipeline
