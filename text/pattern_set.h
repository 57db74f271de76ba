// Texts that a record must not hold: literals with stars, as stages/filter.md, 4 defines them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Immutable, safe from any thread.
class PatternSet {
 public:
  /// kInvalidArgument, naming the pattern, where one is none.
  static Result<PatternSet> Make(const std::vector<std::string>& patterns);

  bool empty() const { return patterns_.empty(); }
  /// Whether `text` matches one of them. Looks at about every m-th byte, m being the length of the shortest
  /// pattern's longest piece; no text makes it try a pattern with stars more than once.
  bool Match(std::string_view text) const;

 private:
  struct Pattern {
    std::vector<std::string> pieces;  // between the stars, none empty
    bool at_begin = false;            // the first piece begins the text
    bool at_end = false;              // the last one ends it
    std::size_t longest = 0;          // of the pieces: what is looked for
    bool is_literal() const { return pieces.size() == 1 && !at_begin && !at_end; }
    bool Match(std::string_view text) const;
  };

  static Result<Pattern> Parse(std::string_view text);
  /// Of the `block` bytes that end at `end`.
  static std::size_t BlockHash(const char* end, std::size_t block);
  void BuildTables();
  /// With kBlock = block_: a length that is known makes the loop a third of the work.
  template <std::size_t kBlock>
  bool MatchBlocks(std::string_view text) const;

  /// Wu and Manber's search for many literals: the last `block_` bytes of a window of `window_` bytes say how
  /// far it may move on, and, where it may not, which literals could end their first `window_` bytes there.
  static constexpr std::size_t kHashes = 4096;
  std::vector<Pattern> patterns_;  // by BlockHash of their longest piece's window
  std::size_t window_ = 0;
  std::size_t block_ = 0;
  std::array<std::uint8_t, kHashes> shift_{};
  std::array<std::uint32_t, kHashes + 1> begin_{};  // of each hash in patterns_
};

}  // namespace pipeline
