// Finds the pieces of a BERT vocabulary from word counts: merges the pair that adds the most to the
// likelihood of the text. Rules: stages/export/bert/bert.md.
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
  /// Approximate bytes of this object and of a training with it.
  std::uint64_t training_memory() const;
  /// Sorted by the bytes of the words.
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
  std::size_t pieces = 0;         // wanted number, without special pieces
  std::size_t other_pieces = 0;   // special pieces, which messages add to them
  bool fewer_will_do = false;     // `pieces` is the most that are wanted
  double character_coverage = 1;  // share of all characters that get pieces
  std::size_t max_characters = 16;
};

/// Returns the pieces: characters first, then the others in the order of their creation. Special pieces are
/// missing, and the text never produces them. One thread; depends on the counts alone. kFailedPrecondition:
/// no text, too many characters, or too few pieces; the message says why. kCancelled: stopped.
Result<std::vector<std::string>> TrainWordPieces(const WordCounts& counts, const WordPieceRules& rules,
                                                 std::stop_token stop);

}  // namespace pipeline
