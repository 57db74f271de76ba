// Distinct words of a text with their counts, in a flat table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace pipeline {

/// Returns a + b, or the largest number.
std::uint64_t SaturatedSum(std::uint64_t a, std::uint64_t b);

/// One thread at a time. Threads that share a text count into tables of their own, which Merge adds up: the
/// sums do not depend on who counted what.
class CountedWords {
 public:
  void Add(std::string_view word, std::uint64_t count = 1);
  void Merge(const CountedWords& other);

  std::size_t distinct() const { return entries_.size(); }
  /// Sum of all counts, at most 2^64 - 1, as each of them.
  std::uint64_t total() const { return total_; }
  /// Characters of the distinct words.
  std::uint64_t characters() const { return characters_; }
  /// Bytes that this object holds.
  std::uint64_t memory() const;
  /// All words, which this object owns, in the order of their first Add.
  std::vector<std::pair<std::string_view, std::uint64_t>> All() const;

 private:
  struct Entry {
    const char* text;
    std::uint32_t size;
    std::uint32_t hash;
    std::uint64_t count;
  };
  std::size_t FreeSlot(std::uint32_t hash) const;
  void Grow();
  const char* Keep(std::string_view word);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;             // 1 + the index of an entry; 0: free
  std::vector<std::unique_ptr<char[]>> blocks_;  // the texts of the words
  std::size_t left_ = 0;                         // bytes of the last block that are free
  std::uint64_t block_bytes_ = 0;
  std::uint64_t total_ = 0, characters_ = 0;
};

}  // namespace pipeline
