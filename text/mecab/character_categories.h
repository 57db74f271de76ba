// Categories of characters, by the file char.bin of a dictionary of MeCab. Format: text/mecab/lattice.md, 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Category of a character, and its rules for words that are in no dictionary.
class CharacterCategory {
 public:
  explicit CharacterCategory(std::uint32_t bits = 0) : bits_(bits) {}
  /// A set of bits; a character may be in many categories.
  std::uint32_t all() const { return bits_ & 0x3ffff; }
  std::uint32_t main() const { return bits_ >> 18 & 0xff; }
  /// Characters of an unknown word: one up to this number...
  std::uint32_t length() const { return bits_ >> 26 & 0xf; }
  /// ...and the whole run of them, if this is true.
  bool groups() const { return (bits_ >> 30 & 1) != 0; }
  /// Whether unknown words are made beside words of the dictionary.
  bool invokes() const { return bits_ >> 31 != 0; }
  bool Shares(CharacterCategory other) const { return (all() & other.all()) != 0; }

 private:
  std::uint32_t bits_;
};

/// A character as MeCab decodes it. Immutable.
struct LooseCharacter {
  std::uint16_t code = 0;  // 0: above U+FFFF, or no character
  std::uint8_t bytes = 1;  // within the text
};

/// Decodes the front of `text`, which has `left` bytes, at least one. Tail bytes may be anything.
inline LooseCharacter LooseCharacterAt(const char* text, std::size_t left) {
  const auto byte = [text](int at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]));
  };
  const std::uint32_t first = byte(0);
  const auto code = [](std::uint32_t bits) { return static_cast<std::uint16_t>(bits); };
  if (first < 0x80) return {code(first), 1};
  if (left >= 2 && (first & 0xE0) == 0xC0) return {code((first & 0x1F) << 6 | (byte(1) & 0x3F)), 2};
  if (left >= 3 && (first & 0xF0) == 0xE0)
    return {code((first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)), 3};
  if (left >= 4 && (first & 0xF8) == 0xF0) return {0, 4};
  if (left >= 5 && (first & 0xFC) == 0xF8) return {0, 5};
  if (left >= 6 && (first & 0xFE) == 0xFC) return {0, 6};
  return {0, 1};
}

/// Immutable once read.
struct CharacterCategories {
  /// kFailedPrecondition: `path` is missing or damaged.
  static Result<CharacterCategories> Read(const std::string& path);

  std::vector<std::string> names;          // by CharacterCategory::main()
  std::vector<CharacterCategory> by_code;  // 65,536
};

}  // namespace pipeline
