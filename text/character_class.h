// What kind of character a code point is: the classes of stages/filter.md, 2.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace pipeline {

enum class CharacterClass : std::uint8_t {
  kNone,  // white space, control characters and what belongs to the character before it
  kPunctuation,
  kSymbol,
  kDigit,
  kHiragana,
  kKatakana,
  kKanji,
  kHangul,
  kLatin,
  kOther,
};
inline constexpr std::size_t kCharacterClasses = 10;

/// "hiragana": as the keys of `filter` call them.
std::string_view NameOf(CharacterClass character_class);

/// How many characters of each class.
class ClassCounts {
 public:
  std::uint64_t& operator[](CharacterClass c) { return counts_[static_cast<std::size_t>(c)]; }
  std::uint64_t operator[](CharacterClass c) const { return counts_[static_cast<std::size_t>(c)]; }
  /// Of all characters that have a class.
  std::uint64_t total() const;
  ClassCounts& operator+=(const ClassCounts& other);
  bool operator==(const ClassCounts&) const = default;

 private:
  std::array<std::uint64_t, kCharacterClasses> counts_{};
};

/// The class of every code point. Immutable. Blocks of 64 code points that are alike are stored once, so
/// that what one text touches fits the first cache.
class CharacterClasses {
 public:
  explicit CharacterClasses(const std::function<CharacterClass(char32_t)>& class_of);

  /// `c` is at most U+10FFFF.
  CharacterClass Of(char32_t c) const {
    return static_cast<CharacterClass>(blocks_[std::size_t{block_of_[c >> 6]} << 6 | (c & 63)]);
  }
  void Count(std::span<const char32_t> characters, ClassCounts& counts) const;

 private:
  std::vector<std::uint16_t> block_of_;
  std::vector<std::uint8_t> blocks_;
};

}  // namespace pipeline
