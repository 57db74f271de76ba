// Text statistics: lengths of records and classes of their characters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pipeline {

enum class ProfileClass : std::uint8_t {
  kHiragana,
  kKatakana,
  kKanji,
  kHangul,
  kLatin,
  kDigit,
  kSpace,
  kSymbol,  // including punctuation
  kOther,
};
inline constexpr std::array<std::string_view, 9> kProfileClasses = {
    "hiragana", "katakana", "kanji", "hangul", "latin", "digit", "space", "symbol", "other"};

ProfileClass ClassOf(char32_t code_point);

/// Length classes: 0, 1, 2, 3, then two per doubling.
std::size_t LengthClass(std::uint64_t characters);
/// The smallest length in a class.
std::uint64_t LengthFloor(std::size_t length_class);

/// Sums over records; one thread at a time.
struct TextProfile {
  std::uint64_t sampled = 0;                  // records that were sampled
  std::uint64_t records = 0;                  // number of records that they represent
  std::vector<std::uint64_t> lengths;         // records by LengthClass
  std::array<std::uint64_t, 9> characters{};  // by ProfileClass

  /// `weight`: the number of records that this one represents.
  void Add(std::string_view text, std::uint64_t weight);
};

}  // namespace pipeline
