// What a text is made of, in numbers: how long its records are and which characters they hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pipeline {

enum class CharacterClass : std::uint8_t {
  kHiragana,
  kKatakana,
  kKanji,
  kHangul,
  kLatin,
  kDigit,
  kSpace,
  kSymbol,  // punctuation too
  kOther,
};
inline constexpr std::array<std::string_view, 9> kCharacterClasses = {
    "hiragana", "katakana", "kanji", "hangul", "latin", "digit", "space", "symbol", "other"};

CharacterClass ClassOf(char32_t code_point);

/// Takes one character off the front of `text`, which is not empty; U+FFFD for a byte that begins none.
char32_t TakeCharacter(std::string_view& text);

/// Classes of lengths: 0, 1, 2, 3, then two to each doubling.
std::size_t LengthClass(std::uint64_t characters);
/// The smallest length of a class.
std::uint64_t LengthFloor(std::size_t length_class);

/// Sums over records; one thread at a time.
struct TextProfile {
  std::uint64_t sampled = 0;                  // records that were looked at
  std::uint64_t records = 0;                  // for how many they stand
  std::vector<std::uint64_t> lengths;         // records by LengthClass
  std::array<std::uint64_t, 9> characters{};  // by CharacterClass

  /// `weight`: for how many records this one stands.
  void Add(std::string_view text, std::uint64_t weight);
};

}  // namespace pipeline
