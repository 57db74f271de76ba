// A lattice of random words.
#pragma once

#include <cstdint>
#include <utility>

#include "tests/text/unigram/random_words.h"
#include "text/unigram/piece_lattice.h"
#include "text/unigram/seed_pieces.h"
#include "text/unigram/suffix_order.h"

namespace pipeline {

inline PieceLattice LatticeOf(TrainingWords words, std::uint32_t max_length = 6) {
  const auto order = *SuffixOrder(words, max_length, 1, {});
  const auto seeds = *FindSeeds(words, order, {.max_length = max_length}, {});
  return std::move(PieceLattice::Make(std::move(words), seeds, order, 0, {})).value();
}

}  // namespace pipeline
