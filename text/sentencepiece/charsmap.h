// The replacements of a normaliser, as a SentencePiece model holds them: formats/sentencepiece_model.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

/// Immutable.
class Charsmap {
 public:
  /// A position in the trie: the bytes that led to it are the beginning of a rule.
  struct State {
    std::uint32_t place = 0;
    bool ends_rule = false;  // they are a whole rule
  };
  struct Match {
    std::size_t bytes = 0;         // of the text; 0: no rule matches
    std::string_view replacement;  // may be empty
  };

  /// SentencePieceModel::Parse has accepted `bytes`, so that no step leads outside of them. Empty: nothing is
  /// replaced.
  explicit Charsmap(std::string_view bytes);

  bool empty() const { return units_.empty(); }
  /// Whether all rules are about whole characters: none ends inside of one, and all give clean UTF-8. Those
  /// that the library compiles are; a damaged charsmap may not be.
  bool keeps_characters() const;
  State root() const { return {OffsetOf(units_[0]), false}; }
  /// False: no rule goes on with this byte.
  bool Step(State& state, char byte) const {
    const auto label = static_cast<unsigned char>(byte);
    const std::uint32_t place = state.place ^ label, unit = units_[place];
    if ((unit & kLabelBits) != label) return false;
    state = {place ^ OffsetOf(unit), (unit & kEndsRule) != 0};
    return true;
  }
  /// For a state that ends a rule.
  std::string_view ReplacementAt(const State& state) const {
    return std::string_view(replacements_.data() + (units_[state.place] & ~kIsLeaf));
  }
  /// Returns the longest rule at the front of `text`.
  Match Longest(std::string_view text) const { return LongestAfter(root(), 0, text); }
  /// The same, where the first `done` bytes have led to `state`.
  Match LongestAfter(State state, std::size_t done, std::string_view text) const;
  std::uint64_t memory() const { return units_.capacity() * 4 + replacements_.capacity(); }

 private:
  static constexpr std::uint32_t kIsLeaf = 1U << 31, kEndsRule = 1U << 8, kLabelBits = kIsLeaf | 0xff;
  static std::uint32_t OffsetOf(std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }

  std::vector<std::uint32_t> units_;
  std::string replacements_;  // each ends with NUL
};

}  // namespace pipeline
