// Classes of characters: stages/lines/filter.md, 2.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace pipeline {

enum class CharacterClass : std::uint8_t {
  kNone,  // white space, control characters and marks that belong to the character before them
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

/// "hiragana": the name in the keys of `filter`.
std::string_view NameOf(CharacterClass character_class);

/// Number of characters in each class.
class ClassCounts {
 public:
  std::uint64_t& operator[](CharacterClass c) { return counts_[static_cast<std::size_t>(c)]; }
  std::uint64_t operator[](CharacterClass c) const { return counts_[static_cast<std::size_t>(c)]; }
  /// Number of characters that have a class.
  std::uint64_t total() const;
  ClassCounts& operator+=(const ClassCounts& other);
  bool operator==(const ClassCounts&) const = default;

 private:
  std::array<std::uint64_t, kCharacterClasses> counts_{};
};

/// The class of every code point. Immutable. Equal blocks of 64 code points are stored once, so that the
/// blocks of one text fit into the L1 cache.
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
