// How much of a text stood there before: stages/filter.md, 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pipeline {

/// Whether a text that comes in pieces has a character more than `limit` times in a row. Looks at every
/// (limit + 1)-th character, and around those that equal a neighbour.
class RunFinder {
 public:
  /// `limit` is at least 1.
  explicit RunFinder(std::size_t limit) : limit_(limit) {}
  void Add(std::span<const char32_t> piece);
  bool found() const { return found_; }

 private:
  std::size_t limit_;
  char32_t last_ = 0;
  std::size_t run_ = 0;  // of `last_`, at the end of what came
  bool found_ = false;
};

/// Finds pieces of `length` characters that begin more than once. Reused from text to text for its memory:
/// up to 32 bytes for each character of the longest one.
class RepetitionFinder {
 public:
  static constexpr std::size_t kMostCharacters = 16384;

  explicit RepetitionFinder(std::size_t length);
  /// How many characters of `text`, kMostCharacters at most, lie in a run of `length` that also begins
  /// further left.
  std::size_t CountRepeated(std::span<const char32_t> text);

 private:
  /// Where a run that equals the one at `begin` began first; `begin` itself where none did.
  std::size_t FirstOf(std::span<const char32_t> text, std::size_t begin, std::uint64_t hash);

  std::size_t length_;
  std::uint64_t drop_;  // what the character that leaves a run had been multiplied with
  /// Open addressing; hash bits above, 1 + the position of a run in the lowest 16; 0 is free.
  std::vector<std::uint32_t> slots_;
};

}  // namespace pipeline
