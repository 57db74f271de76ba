#include "text/utf8.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>

#include "tests/text/utf8.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

std::string Repaired(std::string_view text, Utf8Damage* damage = nullptr) {
  std::string out;
  const Utf8Damage found = RepairUtf8(text, out);
  if (damage != nullptr) *damage = found;
  return out;
}

// A decoder the long way round: by value, from the definition of UTF-8, not from its byte ranges.
std::optional<std::size_t> CharBytes(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  if (s.empty() || byte(0) == 0) return std::nullopt;
  if (byte(0) < 0x80) return 1;
  std::size_t bytes = 0;
  while (bytes < 8 && (byte(0) << bytes & 0x80)) ++bytes;
  if (bytes < 2 || bytes > 4 || s.size() < bytes) return std::nullopt;
  std::uint32_t value = byte(0) & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!IsUtf8Tail(s[i])) return std::nullopt;
    value = value << 6 | (byte(i) & 0x3F);
  }
  static constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[bytes] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return std::nullopt;
  return bytes;
}

std::size_t SlowPrefix(std::string_view s) {
  std::size_t at = 0;
  while (const auto bytes = CharBytes(s.substr(at))) at += *bytes;
  return at;
}

TEST(Utf8Test, ExampleOfTheFormatPage) {
  Utf8Damage damage;
  EXPECT_EQ(Repaired("\xE3\x81\x82\xE3\x81\x41\xED\xA0\x00"s, &damage),
            "\xE3\x81\x82\xEF\xBF\xBD\x41\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(damage, (Utf8Damage{3, 1}));
}

TEST(Utf8Test, UnicodeTableOfReplacements) {  // Unicode 15, tables 3-8 to 3-11
  EXPECT_EQ(Repaired("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(Repaired("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(Repaired("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42");
  EXPECT_EQ(Repaired("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFD\x41");
}

TEST(Utf8Test, CleanTextIsUntouched) {
  for (const std::string& text :
       {""s, "plain ascii, long enough for a word"s, "吾輩は猫である。"s, "가나다 ÀÉ 😀 \uFEFF"s}) {
    EXPECT_TRUE(IsCleanUtf8(text)) << text;
    Utf8Damage damage;
    EXPECT_EQ(Repaired(text, &damage), text);
    EXPECT_EQ(damage, Utf8Damage{});
  }
}

// Every sequence of four bytes out of those at which a rule changes, behind a prefix that shifts it
// against the fast paths.
TEST(Utf8Test, AgreesWithADecoderByValue) {
  static constexpr std::array<unsigned char, 26> kEdges = {
      0x00, 0x01, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2,
      0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
  std::string s(4, '\0');
  std::string wide(70, 'x');
  std::string ends(68, 'x');
  for (unsigned char a : kEdges)
    for (unsigned char b : kEdges)
      for (unsigned char c : kEdges)
        for (unsigned char d : kEdges) {
          s = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c), static_cast<char>(d)};
          const std::size_t clean = SlowPrefix(s);
          ASSERT_EQ(CleanUtf8Prefix(s), clean) << +a << ' ' << +b << ' ' << +c << ' ' << +d;
          // Across two blocks of the wide check, and at the end of the text.
          wide.replace(30, 4, s);
          ASSERT_EQ(IsCleanUtf8(wide), clean == 4) << +a << ' ' << +b << ' ' << +c << ' ' << +d;
          ends.replace(64, 4, s);
          ASSERT_EQ(IsCleanUtf8(ends), clean == 4) << +a << ' ' << +b << ' ' << +c << ' ' << +d;
        }
}

TEST(Utf8Test, DamageIsFoundAtEveryPlaceOfEveryRun) {
  const std::string text = "abcdefghijklmnopqrst猫である猫である猫であるÀÀÀÀ😀😀😀xyz";
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char byte : {'\0', '\xFF', '\x80', '\xED'}) {
      std::string damaged = text;
      damaged[at] = byte;
      const std::size_t clean = SlowPrefix(damaged);
      ASSERT_EQ(CleanUtf8Prefix(damaged), clean) << at;
      ASSERT_EQ(IsCleanUtf8(damaged), clean == damaged.size()) << at;
    }
}

TEST(Utf8Test, RepairGivesCleanTextAndCountsReplacements) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    while (text.size() < 40) {
      static constexpr std::array<std::string_view, 8> kPieces = {"a",    "猫",       "😀",    "\xE7",
                                                                  "\x8C", "\xF0\x9F", "\xFF", "\xC3"};
      text += kPieces[random() % kPieces.size()];
      if (random() % 16 == 0) text += '\0';
    }
    Utf8Damage damage;
    const std::string repaired = Repaired(text, &damage);
    ASSERT_TRUE(IsCleanUtf8(repaired));
    ASSERT_EQ(Repaired(repaired), repaired);
    std::uint64_t replaced = 0;
    for (std::size_t at = 0; (at = repaired.find("\uFFFD", at)) != std::string::npos; at += 3) ++replaced;
    ASSERT_EQ(replaced, damage.invalid_utf8 + damage.nul);
  }
}

TEST(Utf8Test, DecodesEveryCharacter) {
  std::string text;
  std::u32string characters;
  for (char32_t c = 1; c < 0x110000; ++c) {
    if (0xD800 <= c && c < 0xE000) continue;
    text += Utf8(c);
    characters.push_back(c);
  }
  EXPECT_EQ(CountCharacters(text), characters.size());
  std::u32string decoded(characters.size() + 1, U'\0');
  std::string_view rest = text;
  EXPECT_EQ(DecodeUtf8(rest, decoded), characters.size());
  EXPECT_TRUE(rest.empty());
  decoded.pop_back();
  EXPECT_TRUE(decoded == characters);
}

TEST(Utf8Test, DecodesInPieces) {
  const std::u32string characters = U"a\u00e9猫😀か";
  for (std::size_t piece = 1; piece <= characters.size(); ++piece) {
    std::string_view rest = "a\u00e9猫😀か";
    std::u32string decoded;
    while (!rest.empty()) {
      std::u32string part(piece, U'\0');
      part.resize(DecodeUtf8(rest, part));
      decoded += part;
    }
    EXPECT_TRUE(decoded == characters) << piece;
  }
  std::string_view rest = "か";
  EXPECT_EQ(DecodeUtf8(rest, {}), 0u);
  EXPECT_EQ(rest, "か");
}

TEST(Utf8Test, EachCharacterComesBack) {
  std::array<char, 4> bytes{};
  for (char32_t code = 1; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 61) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string_view text = EncodeCharacter(code, bytes);
    ASSERT_TRUE(IsCleanUtf8(text)) << std::uint32_t{code};
    const Utf8Character one = CharacterAt(text.data());
    ASSERT_EQ(std::uint32_t{one.code}, std::uint32_t{code});
    ASSERT_EQ(one.bytes, text.size());
  }
}

}  // namespace
}  // namespace pipeline
