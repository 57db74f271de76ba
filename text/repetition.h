// Measures the repetition in a text: stages/lines/filter.md, 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pipeline {

/// Detects a character that occurs more than `limit` times in a row, in a text that comes in parts. Reads
/// every (limit + 1)-th character, and the characters next to it while they are equal.
class RunFinder {
 public:
  /// `limit` is at least 1.
  explicit RunFinder(std::size_t limit) : limit_(limit) {}
  void Add(std::span<const char32_t> piece);
  bool found() const { return found_; }

 private:
  std::size_t limit_;
  char32_t last_ = 0;
  std::size_t run_ = 0;  // number of `last_` at the end of the text so far
  bool found_ = false;
};

/// Finds sequences of `length` characters that occur more than once. Reuses its memory from text to text:
/// up to 32 bytes for each character of the longest text.
class RepetitionFinder {
 public:
  static constexpr std::size_t kMostCharacters = 16384;

  explicit RepetitionFinder(std::size_t length);
  /// Number of characters of `text` that lie in a sequence of `length` that also occurs earlier. `text` has
  /// at most kMostCharacters characters.
  std::size_t CountRepeated(std::span<const char32_t> text);

 private:
  /// First position of a sequence equal to the one at `begin`; `begin`: there is no earlier one.
  std::size_t FirstOf(std::span<const char32_t> text, std::size_t begin, std::uint64_t hash);

  std::size_t length_;
  std::uint64_t drop_;  // hash factor of the character that leaves a sequence
  /// Open addressing. The lowest 16 bits of a slot are 1 + the position of a sequence, the others are
  /// bits of its hash; 0: free.
  std::vector<std::uint32_t> slots_;
};

}  // namespace pipeline
