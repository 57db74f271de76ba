// Patterns of forbidden text: literals with stars, as defined in stages/lines/filter.md, 4.
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
  /// kInvalidArgument names a pattern that is not valid.
  static Result<PatternSet> Make(const std::vector<std::string>& patterns);

  bool empty() const { return patterns_.empty(); }
  /// True if `text` matches a pattern. Reads about every m-th byte, where m is the length of the shortest
  /// of the patterns' longest literals. Tries a pattern with stars at most once per text.
  bool Match(std::string_view text) const;

 private:
  struct Pattern {
    std::vector<std::string> pieces;  // literals between the stars; none is empty
    bool at_begin = false;            // the text begins with the first literal
    bool at_end = false;              // the text ends with the last literal
    std::size_t longest = 0;          // index of the longest literal, for which the search looks
    bool is_literal() const { return pieces.size() == 1 && !at_begin && !at_end; }
    bool Match(std::string_view text) const;
  };

  static Result<Pattern> Parse(std::string_view text);
  /// Hash of the `block` bytes before `end`.
  static std::size_t BlockHash(const char* end, std::size_t block);
  void BuildTables();
  /// kBlock is block_ as a constant: the loop then takes a third of the time.
  template <std::size_t kBlock>
  bool MatchBlocks(std::string_view text) const;

  /// Wu-Manber search for many literals. The last `block_` bytes of a window of `window_` bytes determine
  /// the shift of the window. If the shift is 0, they determine the literals whose first `window_` bytes
  /// may end here.
  static constexpr std::size_t kHashes = 4096;
  std::vector<Pattern> patterns_;  // by BlockHash of the window of their longest literal
  std::size_t window_ = 0;
  std::size_t block_ = 0;
  std::array<std::uint8_t, kHashes> shift_{};
  std::array<std::uint32_t, kHashes + 1> begin_{};  // first index in patterns_ for each hash
};

}  // namespace pipeline
