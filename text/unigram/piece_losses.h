// How much the text loses with each piece, by the best ways through its words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "text/unigram/piece_lattice.h"

namespace pipeline {

/// Finds the pieces with the greatest product of shares. Has the logarithms of the shares as they are when it
/// is made. Immutable and safe from any thread; each thread has its own Scratch.
class BestPath {
 public:
  class Scratch {
    friend class BestPath;
    struct Best {
      double score;
      std::uint32_t piece;  // the last one
    };
    std::vector<Best> best_;
  };

  /// `lattice` must outlive this object and keep its pieces.
  explicit BestPath(const PieceLattice& lattice);

  double score(std::uint32_t piece) const { return scores_[piece]; }

  /// Appends the pieces of the text from `begin` to `end` of the words, from the last to the first, which has
  /// no word end in it. Does without the piece `without`, if it is not 0. The first found of equal ways is
  /// taken.
  void Find(std::uint32_t begin, std::uint32_t end, std::uint32_t without, Scratch& scratch,
            std::vector<std::uint32_t>& pieces) const;

 private:
  const PieceLattice& lattice_;
  std::vector<double> scores_;  // by piece
};

/// Returns for each piece of several characters by how many nats the logarithm of the probability of all
/// words falls if the best way without the piece takes its place everywhere; negative: no best way has the
/// piece. Nothing: stopped.
std::optional<std::vector<double>> PieceLosses(const PieceLattice& lattice, std::size_t threads,
                                               const std::stop_token& stop);

/// Keeps the characters and the pieces with the greatest losses, `most` in all. Those with a negative loss
/// stay only if there would be less than `least`, the ones with the greatest shares first. The number of a
/// piece decides between equals.
void KeepBest(const std::vector<double>& losses, std::size_t most, std::size_t least, PieceLattice& lattice);

}  // namespace pipeline
