// The pieces of a training, and those that begin at each character of its words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/unigram/seed_pieces.h"
#include "text/unigram/training_words.h"

namespace pipeline {

/// Piece 0 does not exist, the pieces up to the number of characters are these, and the others have several
/// characters.
class PieceLattice {
 public:
  struct Piece {
    double share;  // of all pieces in a text; 0: the piece is gone
    std::uint32_t length;
    std::uint32_t position;  // of one of its occurrences, if it has several characters
  };

  /// The first shares are those of the counts. kResourceExhausted: the seeds have more than 2^32 occurrences,
  /// or the lattice would have more than `memory` bytes (0: no limit) with the words. kCancelled: stopped.
  static Result<PieceLattice> Make(TrainingWords words, std::span<const SeedPiece> seeds,
                                   const std::vector<std::uint32_t>& order, std::uint64_t memory,
                                   const std::stop_token& stop);

  const TrainingWords& words() const { return words_; }
  std::vector<Piece>& pieces() { return pieces_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// Number of pieces of one character.
  std::size_t characters() const { return words_.characters.size() - 1; }
  /// Number of pieces, also of those that are gone.
  std::size_t size() const { return pieces_.size() - 1; }
  std::string TextOf(std::uint32_t piece) const;

  /// Pieces of several characters that begin at a position of the words.
  std::span<const std::uint32_t> At(std::uint32_t position) const {
    return {edges_.data() + firsts_[position], edges_.data() + firsts_[position + 1]};
  }

  /// Removes the pieces for which `kept` is false, and numbers the others again in the same order. Characters
  /// stay.
  void Keep(const std::vector<bool>& kept);

  /// The words in ranges of about the same work, for threads.
  struct Block {
    std::uint32_t begin, end;
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  std::uint32_t longest_word() const { return longest_; }

 private:
  explicit PieceLattice(TrainingWords words) : words_(std::move(words)) {}
  void MakeBlocks();

  TrainingWords words_;
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> firsts_;  // by position: the index of its first edge
  std::vector<std::uint32_t> edges_;   // pieces
  std::vector<Block> blocks_;
  std::uint32_t longest_ = 0;
};

}  // namespace pipeline
