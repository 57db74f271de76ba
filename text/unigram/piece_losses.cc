#include "text/unigram/piece_losses.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "text/unigram/exact_math.h"
#include "text/unigram/parallel_blocks.h"

namespace pipeline {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

constexpr std::size_t kPiecesAtOnce = 1 << 12;

/// Returns how often the best ways through all words have each piece.
std::optional<std::vector<std::uint64_t>> BestCounts(const PieceLattice& lattice, const BestPath& paths,
                                                     std::size_t threads, const std::stop_token& stop) {
  struct Part {
    std::vector<std::uint64_t> counts;
    std::vector<std::uint32_t> pieces;
    BestPath::Scratch scratch;
  };
  std::vector<Part> parts(threads);
  for (Part& part : parts) part.counts.assign(lattice.pieces().size(), 0);
  const TrainingWords& words = lattice.words();
  if (!ForEachBlock(lattice.blocks().size(), threads, stop, [&](std::size_t block, std::size_t thread) {
        Part& part = parts[thread];
        for (std::uint32_t word = lattice.blocks()[block].begin; word < lattice.blocks()[block].end; ++word) {
          part.pieces.clear();
          paths.Find(words.begins[word], words.begins[word + 1] - 1, 0, part.scratch, part.pieces);
          for (const std::uint32_t piece : part.pieces) part.counts[piece] += words.counts[word];
        }
      }))
    return std::nullopt;
  std::vector<std::uint64_t> counts = std::move(parts[0].counts);
  for (std::size_t thread = 1; thread < threads; ++thread)
    for (std::size_t piece = 0; piece < counts.size(); ++piece) counts[piece] += parts[thread].counts[piece];
  return counts;
}

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

std::optional<std::vector<double>> PieceLosses(const PieceLattice& lattice, std::size_t threads,
                                               const std::stop_token& stop) {
  const std::size_t used = std::max<std::size_t>(std::min(threads, lattice.blocks().size()), 1);
  const BestPath paths(lattice);
  const std::optional<std::vector<std::uint64_t>> counts = BestCounts(lattice, paths, used, stop);
  if (!counts) return std::nullopt;
  double sum = 0;
  for (const std::uint64_t count : *counts) sum += static_cast<double>(count);
  const double log_sum = ExactLog(std::max(sum, 1.0));

  std::vector<double> losses(counts->size(), -1);
  struct Scratch {
    std::vector<std::uint32_t> pieces;
    BestPath::Scratch path;
  };
  std::vector<Scratch> scratches(used);
  const std::size_t blocks = (losses.size() + kPiecesAtOnce - 1) / kPiecesAtOnce;
  // Its count goes to the pieces that take its place: each of them then has more, and so has the sum.
  const auto loss_of = [&](std::uint32_t piece, Scratch& scratch) {
    const auto count = static_cast<double>((*counts)[piece]);
    const PieceLattice::Piece& one = lattice.pieces()[piece];
    scratch.pieces.clear();
    paths.Find(one.position, one.position + one.length, piece, scratch.path, scratch.pieces);
    const double log_sum_then = ExactLog(sum + count * static_cast<double>(scratch.pieces.size() - 1));
    double then = 0;
    for (const std::uint32_t other : scratch.pieces)
      then += ExactLog(static_cast<double>((*counts)[other]) + count) - log_sum_then;
    return count * std::max(ExactLog(count) - log_sum - then, 0.0);
  };
  if (!ForEachBlock(blocks, used, stop, [&](std::size_t block, std::size_t thread) {
        const std::size_t end = std::min(losses.size(), (block + 1) * kPiecesAtOnce);
        for (std::size_t piece = block * kPiecesAtOnce; piece < end; ++piece)
          if (piece > lattice.characters() && (*counts)[piece] > 0)
            losses[piece] = loss_of(static_cast<std::uint32_t>(piece), scratches[thread]);
      }))
    return std::nullopt;
  return losses;
}

void KeepBest(const std::vector<double>& losses, std::size_t most, std::size_t least, PieceLattice& lattice) {
  std::vector<std::uint32_t> order, unused;
  for (std::uint32_t piece = static_cast<std::uint32_t>(lattice.characters()) + 1; piece < losses.size();
       ++piece)
    if (losses[piece] >= 0)
      order.push_back(piece);
    else if (lattice.pieces()[piece].share > 0)
      unused.push_back(piece);
  const std::size_t wanted = most > lattice.characters() ? most - lattice.characters() : 0;
  if (order.size() > wanted) {
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(),
                     [&losses](std::uint32_t a, std::uint32_t b) {
                       return std::tuple(losses[b], a) < std::tuple(losses[a], b);
                     });
    order.resize(wanted);
  }
  if (const std::size_t kept = lattice.characters() + order.size(); kept < least) {
    const std::size_t filled = std::min(least - kept, unused.size());
    const auto& pieces = lattice.pieces();
    std::nth_element(unused.begin(), unused.begin() + static_cast<std::ptrdiff_t>(filled), unused.end(),
                     [&pieces](std::uint32_t a, std::uint32_t b) {
                       return std::tuple(pieces[b].share, a) < std::tuple(pieces[a].share, b);
                     });
    order.insert(order.end(), unused.begin(), unused.begin() + static_cast<std::ptrdiff_t>(filled));
  }
  std::vector<bool> kept(losses.size(), false);
  for (const std::uint32_t piece : order) kept[piece] = true;
  lattice.Keep(kept);
}

}  // namespace pipeline
