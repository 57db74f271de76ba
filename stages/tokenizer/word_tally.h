// The memory of a training by the least count of its words.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

namespace pipeline {

/// Distinct words, summed up by the number of times that they occur.
class WordTally {
 public:
  void Add(std::string_view word, std::uint64_t count);

  /// All occurrences of all words, at most 2^64 - 1.
  std::uint64_t total() const { return total_; }
  /// Bytes for a training on the words that occur `least` times or more.
  std::uint64_t MemoryFrom(std::uint64_t least) const;
  /// Returns the least number such that the words that occur so often fit in `memory` bytes; 0: there is none.
  std::uint64_t LeastThatFits(std::uint64_t memory) const;

 private:
  struct Words {
    std::uint64_t distinct = 0, characters = 0, bytes = 0;
    void Add(const Words& other);
    std::uint64_t Memory() const;
  };
  std::map<std::uint64_t, Words> by_count_;
  std::uint64_t total_ = 0;
};

/// Bytes for a training on such words, and for the tables of characters. `held`: bytes that hold the words.
std::uint64_t WordsMemory(std::uint64_t characters, std::uint64_t distinct, std::uint64_t held);

}  // namespace pipeline
