// Finds the pieces of a BERT vocabulary in counted words: pairs are merged by what that adds to the
// likelihood of the text. Rules: formats/bert.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Counts distinct words.
class WordCounts {
 public:
  void Add(std::string_view word);

  std::size_t distinct() const { return counts_.size(); }
  std::uint64_t total() const { return total_; }
  /// What this object holds and what training on it takes besides, roughly.
  std::uint64_t training_memory() const;
  /// By the bytes of the words.
  std::vector<std::pair<std::string_view, std::uint64_t>> Sorted() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t bytes_ = 0;
};

struct WordPieceRules {
  std::size_t pieces = 0;         // wanted, special ones not among them
  bool fewer_will_do = false;     // where the words do not give so many
  double character_coverage = 1;  // the share of all characters that get pieces
  std::size_t max_characters = 16;
};

/// The pieces, characters first, then in the order in which they were made, without the special ones, which
/// the text never makes. One thread; depends on the counts alone. kFailedPrecondition where there are too few
/// or too many characters, saying what would do; kCancelled.
Result<std::vector<std::string>> TrainWordPieces(const WordCounts& counts, const WordPieceRules& rules,
                                                 std::stop_token stop);

}  // namespace pipeline
