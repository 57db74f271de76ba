// The best way through a text: the pieces with the greatest product of shares.
#pragma once

#include <cstdint>
#include <vector>

#include "text/unigram/piece_lattice.h"

namespace pipeline {

/// Has the logarithms of the shares as they are when it is made. Immutable and safe from any thread; each
/// thread has its own Scratch.
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

}  // namespace pipeline
