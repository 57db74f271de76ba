// The normaliser of a SentencePiece model: a line becomes the symbols that the trie of its pieces reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/sentencepiece_model.h"
#include "text/sentencepiece/charsmap.h"
#include "text/sentencepiece/piece_trie.h"

namespace pipeline {

/// For each character: its label in the trie of a model, and whether the normaliser has to look at it.
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

/// The characters of one line after the normaliser.
struct LineSymbols {
  static constexpr std::uint32_t kOutside = 1U << 31;
  /// U+2581 that stands in the text itself, with SpaceMarks::kBytes. No space has this symbol.
  static constexpr std::uint32_t kTextMark = kOutside | 1U << 30 | 0x2581;

  std::uint32_t count = 0;
  std::vector<std::uint32_t> symbols;  // the first `count`: labels, or kOutside and a character without one
  std::vector<std::uint32_t> begins;   // for each the offset in the line of the text that became it; the end
};

/// What U+2581, with which models write a space, is where a text has it.
enum class SpaceMarks : std::uint8_t {
  kAreSpaces,  // as in the library: it comes back as a space
  kBytes       // the pieces of its three bytes, before any rule; where the model has none, kAreSpaces
};

/// Immutable. Normalises clean UTF-8 as the library does.
class LineNormalizer {
 public:
  LineNormalizer(const SentencePieceModel& model, SpaceMarks marks);

  /// Replaces `out`.
  void Normalize(std::string_view line, LineSymbols& out) const;
  /// 0: no piece has this character.
  std::uint32_t LabelOf(char32_t code) const { return table_.LabelOf(code); }
  /// The largest label.
  std::uint32_t labels() const { return static_cast<std::uint32_t>(characters_.size() - 1); }
  char32_t CharacterOf(std::uint32_t symbol) const {
    constexpr std::uint32_t kCharacter = (1U << 21) - 1;
    return (symbol & LineSymbols::kOutside) != 0 ? symbol & kCharacter : characters_[symbol];
  }
  std::uint64_t memory() const;

 private:
  /// The front of a text, and the text that takes its place.
  struct Replaced {
    std::size_t bytes = 0;
    std::string_view by;
  };
  Replaced ReplaceFront(std::string_view text) const;
  std::size_t OwnSymbolAt(std::string_view text) const;
  void AddLabels(const SentencePieceModel& model);
  void AddOwnSymbols(const SentencePieceModel& model);
  void MarkRules();
  std::uint32_t SymbolOf(char32_t code) const {
    const std::uint32_t label = table_.LabelOf(code);
    return label != 0 ? label : LineSymbols::kOutside | code;
  }

  const SpacingRules spacing_;
  const char32_t space_;  // the character that stands for a space
  const Charsmap charsmap_;
  CharacterTable table_;
  std::vector<char32_t> characters_ = {0};  // by label
  PieceTrie own_symbols_;                   // pieces of the type user-defined: no rule changes them
  bool has_own_symbols_ = false, is_space_plain_ = true;
  const bool keeps_marks_;
};

}  // namespace pipeline
