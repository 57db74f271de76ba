// For each character: its label in the trie of a model, and whether the normaliser has to look at it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/sentencepiece/charsmap.h"

namespace pipeline {

/// Decodes the character at the front of clean UTF-8, which is not empty.
struct Utf8Character {
  char32_t code = 0;
  std::uint32_t bytes = 0;
};
inline Utf8Character CharacterAt(const char* text) {
  const auto byte = [text](int at) { return static_cast<char32_t>(static_cast<unsigned char>(text[at])); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (first < 0xF0) return {(first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

/// Returns the UTF-8 of a character, in `bytes`.
std::string_view EncodeCharacter(char32_t code, std::array<char, 4>& bytes);

/// Immutable after its setters.
class CharacterTable {
 public:
  static constexpr std::uint32_t kLooks = 1U << 31;  // the normaliser has to look; other bits: the label
  static constexpr char32_t kCharacters = 0x110000;

  CharacterTable() : pages_(1) { index_.fill(0); }

  /// 0: the character is in no piece, and the normaliser leaves it alone.
  std::uint32_t operator[](char32_t code) const { return pages_[index_[code >> 8]][code & 0xff]; }
  std::uint32_t LabelOf(char32_t code) const { return (*this)[code] & ~kLooks; }

  void SetLabel(char32_t code, std::uint32_t label) { At(code) = (At(code) & kLooks) | label; }
  void Look(char32_t code) { At(code) |= kLooks; }
  std::uint64_t memory() const { return sizeof(index_) + pages_.capacity() * sizeof(Page); }

 private:
  using Page = std::array<std::uint32_t, 256>;

  std::uint32_t& At(char32_t code) {
    std::uint16_t& page = index_[code >> 8];
    if (page == 0) {
      page = static_cast<std::uint16_t>(pages_.size());
      pages_.emplace_back();
    }
    return pages_[page][code & 0xff];
  }

  std::array<std::uint16_t, kCharacters / 256> index_;
  std::vector<Page> pages_;  // the first is shared by all pages of zeros
};

}  // namespace pipeline
