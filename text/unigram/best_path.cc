#include "text/unigram/best_path.h"

#include <limits>

#include "text/unigram/exact_math.h"

namespace pipeline {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

}  // namespace

BestPath::BestPath(const PieceLattice& lattice)
    : lattice_(lattice), scores_(lattice.pieces().size(), kNever) {
  for (std::size_t piece = 1; piece < scores_.size(); ++piece)
    if (const double share = lattice.pieces()[piece].share; share > 0) scores_[piece] = ExactLog(share);
}

void BestPath::Find(std::uint32_t begin, std::uint32_t end, std::uint32_t without, Scratch& scratch,
                    std::vector<std::uint32_t>& pieces) const {
  const std::uint32_t length = end - begin;
  const std::uint32_t* const symbols = lattice_.words().symbols.data() + begin;
  scratch.best_.assign(length + 1, {kNever, 0});
  Scratch::Best* const best = scratch.best_.data();
  best[0].score = 0;
  const auto improve = [&](std::uint32_t at, double score, std::uint32_t piece) {
    if (score > best[at].score) best[at] = {score, piece};
  };
  for (std::uint32_t at = 0; at < length; ++at) {
    const double here = best[at].score;
    improve(at + 1, here + scores_[symbols[at]], symbols[at]);
    for (const std::uint32_t piece : lattice_.At(begin + at)) {
      const std::uint32_t to = at + lattice_.pieces()[piece].length;
      if (to <= length && piece != without) improve(to, here + scores_[piece], piece);
    }
  }
  for (std::uint32_t at = length; at > 0; at -= lattice_.pieces()[best[at].piece].length)
    pieces.push_back(best[at].piece);
}

}  // namespace pipeline
