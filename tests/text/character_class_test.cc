#include "text/character_class.h"

#include <gtest/gtest.h>

#include <string>

#include "text/unicode.h"
#include "text/white_space.h"

namespace pipeline {
namespace {

const CharacterClasses& Classes() {
  static const CharacterClasses classes = UnicodeClasses();
  return classes;
}

// From the Unicode Character Database by hand, not from ICU.
TEST(CharacterClassTest, FollowsTheTableOfThePage) {
  using enum CharacterClass;
  const std::pair<CharacterClass, std::u32string> cases[] = {
      {kNone, U" \u3000\t\x7f\u00a0\ufeff\u00ad\u200b\u200d\u2060\u0301\u3099\ufe0f\U000e0100\U000e0041"},
      {kPunctuation, U"!。、「」・…―〜\uff01\u2014#%&*@\u30fb"},
      {kSymbol, U"+=~|☆→㌔㈱￥$^`\ufffd😀🇯🏽゛"},
      {kDigit, U"09０９٣①½²㊿𝟘"},
      {kHiragana, U"ぁあんゔゝ\u309f𛀁"},
      {kKatakana, U"ァアンヴヽーｱｰﾞㇰ〱\u30ff"},
      {kKanji, U"一漢龥々〇〆㐀𠮷\U0002f800\ufa0e"},
      {kHangul, U"가힣ᄒㅋﾡꥠ"},
      {kLatin, U"azAZ\u00e9\u0100ａⅧªﬁ"},
      {kOther, U"яαא\u0e01\u0e31अ\ue000\U0010ffff\u0378"},
  };
  for (const auto& [expected, characters] : cases)
    for (const char32_t c : characters) {
      EXPECT_EQ(Classes().Of(c), expected) << std::hex << static_cast<std::uint32_t>(c);
    }
}

TEST(CharacterClassTest, WhiteSpaceHasNoClass) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (!IsWhiteSpace(c)) continue;
    ASSERT_EQ(Classes().Of(c), CharacterClass::kNone) << static_cast<std::uint32_t>(c);
  }
}

TEST(CharacterClassTest, CountsWhatOfSays) {
  std::u32string text;
  for (char32_t c = 1; c < 0x30000; c += 7) text.push_back(c);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{6}, text.size()}) {
    ClassCounts counted, expected;
    Classes().Count(std::u32string_view(text).substr(0, size), counted);
    for (std::size_t i = 0; i < size; ++i) ++expected[Classes().Of(text[i])];
    EXPECT_EQ(counted, expected) << size;
    EXPECT_EQ(counted.total() + counted[CharacterClass::kNone], size);
  }
}

}  // namespace
}  // namespace pipeline
