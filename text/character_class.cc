#include "text/character_class.h"

#include <map>
#include <numeric>

namespace pipeline {

namespace {

constexpr std::size_t kClassBlock = 64;
constexpr std::size_t kCodePoints = 0x110000;

constexpr std::array<std::string_view, kCharacterClasses> kClassNames = {
    "none", "punctuation", "symbols", "digits", "hiragana", "katakana", "kanji", "hangul", "latin", "other"};

}  // namespace

std::string_view NameOf(CharacterClass character_class) {
  return kClassNames[static_cast<std::size_t>(character_class)];
}

std::uint64_t ClassCounts::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}) - counts_[0];
}

ClassCounts& ClassCounts::operator+=(const ClassCounts& other) {
  for (std::size_t i = 0; i < kCharacterClasses; ++i) counts_[i] += other.counts_[i];
  return *this;
}

CharacterClasses::CharacterClasses(const std::function<CharacterClass(char32_t)>& class_of) {
  std::map<std::array<std::uint8_t, kClassBlock>, std::uint16_t> known;
  for (std::size_t first = 0; first < kCodePoints; first += kClassBlock) {
    std::array<std::uint8_t, kClassBlock> block{};
    for (std::size_t i = 0; i < kClassBlock; ++i)
      block[i] = static_cast<std::uint8_t>(class_of(static_cast<char32_t>(first + i)));
    const auto [at, is_new] = known.emplace(block, static_cast<std::uint16_t>(known.size()));
    if (is_new) blocks_.insert(blocks_.end(), block.begin(), block.end());
    block_of_.push_back(at->second);
  }
}

void CharacterClasses::Count(std::span<const char32_t> characters, ClassCounts& counts) const {
  // Neighbours mostly have one class: with one row of counters each addition would wait for the last.
  constexpr std::size_t kRows = 4;
  std::array<std::array<std::uint64_t, kCharacterClasses>, kRows> rows{};
  std::size_t at = 0;
  for (; at + kRows <= characters.size(); at += kRows)
    for (std::size_t row = 0; row < kRows; ++row)
      ++rows[row][static_cast<std::size_t>(Of(characters[at + row]))];
  for (; at < characters.size(); ++at) ++rows[0][static_cast<std::size_t>(Of(characters[at]))];
  for (const auto& row : rows)
    for (std::size_t i = 0; i < kCharacterClasses; ++i) counts[static_cast<CharacterClass>(i)] += row[i];
}

}  // namespace pipeline
