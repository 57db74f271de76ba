// For each character: its label in the trie of a model, and whether the normaliser has to look at it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace pipeline {

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
