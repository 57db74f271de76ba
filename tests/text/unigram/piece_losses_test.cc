#include "text/unigram/piece_losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/text/unigram/small_lattice.h"
#include "text/unigram/expected_counts.h"

namespace pipeline {
namespace {

PieceLattice Trained(std::uint32_t seed, int words) {
  PieceLattice lattice = LatticeOf(RandomTrainingWords(seed, words, 8));
  for (int round = 0; round < 2; ++round) SetShares(*ExpectedCounts(lattice, 1, {}), 0, lattice);
  return lattice;
}

/// The logarithm of the best way from `at` to `end`, by trying all.
double BestByHand(const PieceLattice& lattice, std::uint32_t at, std::uint32_t end, std::uint32_t without) {
  if (at == end) return 0;
  double best = std::log(lattice.pieces()[lattice.words().symbols[at]].share) +
                BestByHand(lattice, at + 1, end, without);
  for (const std::uint32_t piece : lattice.At(at)) {
    const PieceLattice::Piece& one = lattice.pieces()[piece];
    if (piece != without && at + one.length <= end && one.share > 0)
      best = std::max(best, std::log(one.share) + BestByHand(lattice, at + one.length, end, without));
  }
  return best;
}

TEST(BestPathTest, NoWayIsBetter) {
  const PieceLattice lattice = Trained(4, 80);
  const BestPath paths(lattice);
  BestPath::Scratch scratch;
  for (std::size_t word = 0; word < lattice.words().size(); ++word) {
    const std::uint32_t begin = lattice.words().begins[word], end = lattice.words().begins[word + 1] - 1;
    std::vector<std::uint32_t> pieces;
    paths.Find(begin, end, 0, scratch, pieces);
    double score = 0;
    std::uint32_t at = end;
    for (const std::uint32_t piece : pieces) {
      score += paths.score(piece);
      at -= lattice.pieces()[piece].length;
      std::string text;
      for (std::uint32_t place = at; place < at + lattice.pieces()[piece].length; ++place)
        text += lattice.words().characters[lattice.words().symbols[place]];
      EXPECT_EQ(lattice.TextOf(piece), text);
    }
    EXPECT_EQ(at, begin);
    EXPECT_NEAR(score, BestByHand(lattice, begin, end, 0), 1e-9);
  }
}

TEST(PieceLossesTest, ALossIsWhatThePiecesInItsPlaceCost) {
  const PieceLattice lattice = Trained(8, 80);
  const std::vector<double> losses = *PieceLosses(lattice, 1, {});
  const BestPath paths(lattice);
  BestPath::Scratch scratch;
  std::map<std::uint32_t, double> counts;
  double sum = 0;
  for (std::size_t word = 0; word < lattice.words().size(); ++word) {
    std::vector<std::uint32_t> pieces;
    paths.Find(lattice.words().begins[word], lattice.words().begins[word + 1] - 1, 0, scratch, pieces);
    for (const std::uint32_t piece : pieces) {
      counts[piece] += static_cast<double>(lattice.words().counts[word]);
      sum += static_cast<double>(lattice.words().counts[word]);
    }
  }
  int with_a_loss = 0;
  for (std::uint32_t piece = static_cast<std::uint32_t>(lattice.characters()) + 1; piece < losses.size();
       ++piece) {
    if (!counts.contains(piece)) {
      EXPECT_LT(losses[piece], 0);
      continue;
    }
    ++with_a_loss;
    const PieceLattice::Piece& one = lattice.pieces()[piece];
    std::vector<std::uint32_t> instead;
    paths.Find(one.position, one.position + one.length, piece, scratch, instead);
    EXPECT_GE(instead.size(), 2u);
    const double count = counts[piece];
    double then = 0;
    for (const std::uint32_t other : instead)
      then += std::log((counts[other] + count) / (sum + count * static_cast<double>(instead.size() - 1)));
    EXPECT_NEAR(losses[piece], std::max(0.0, count * (std::log(count / sum) - then)), 1e-6 * count);
  }
  EXPECT_GT(with_a_loss, 10);
}

TEST(PieceLossesTest, AnyNumberOfThreadsGivesTheSameNumbers) {
  const PieceLattice lattice = Trained(3, 30'000);
  const std::vector<double> losses = *PieceLosses(lattice, 1, {});
  for (const std::size_t threads : {2U, 7U}) EXPECT_EQ(*PieceLosses(lattice, threads, {}), losses);
}

TEST(KeepBestTest, TheGreatestLossesStayInTheirOrder) {
  PieceLattice lattice = Trained(5, 300);
  const std::size_t characters = lattice.characters();
  ASSERT_GT(lattice.size(), characters + 5);
  std::vector<double> losses(lattice.pieces().size(), -1);
  losses[characters + 1] = 3, losses[characters + 2] = 1, losses[characters + 4] = 3,
                      losses[characters + 5] = 7;
  const std::string first = lattice.TextOf(static_cast<std::uint32_t>(characters) + 1);
  const std::string last = lattice.TextOf(static_cast<std::uint32_t>(characters) + 5);
  KeepBest(losses, characters + 2, 0, lattice);
  ASSERT_EQ(lattice.size(), characters + 2);
  EXPECT_EQ(lattice.TextOf(static_cast<std::uint32_t>(characters) + 1), first) << "the first of equals stays";
  EXPECT_EQ(lattice.TextOf(static_cast<std::uint32_t>(characters) + 2), last);
  for (std::uint32_t position = 0; position < lattice.words().symbols.size(); ++position)
    for (const std::uint32_t piece : lattice.At(position)) {
      std::string text;
      for (std::uint32_t at = 0; at < lattice.pieces()[piece].length; ++at)
        text += lattice.words().characters[lattice.words().symbols[position + at]];
      ASSERT_EQ(text, lattice.TextOf(piece));
    }
  KeepBest(std::vector<double>(lattice.pieces().size(), 1), 0, 0, lattice);
  EXPECT_EQ(lattice.size(), characters) << "characters stay";
}

TEST(KeepBestTest, PiecesThatNoWayHasStayWhereTooFewWouldBeLeft) {
  PieceLattice lattice = Trained(5, 300);
  const std::size_t characters = lattice.characters();
  ASSERT_GT(lattice.size(), characters + 6);
  std::vector<double> losses(lattice.pieces().size(), -1);
  losses[characters + 3] = 7;
  for (std::size_t piece = characters + 1; piece < lattice.pieces().size(); ++piece)
    lattice.pieces()[piece].share = 0.001;
  lattice.pieces()[characters + 1].share = 0;
  lattice.pieces()[characters + 6].share = 0.5;
  const std::string second = lattice.TextOf(static_cast<std::uint32_t>(characters) + 2);
  const std::string used = lattice.TextOf(static_cast<std::uint32_t>(characters) + 3);
  const std::string likely = lattice.TextOf(static_cast<std::uint32_t>(characters) + 6);
  KeepBest(losses, characters + 9, characters + 3, lattice);
  ASSERT_EQ(lattice.size(), characters + 3);
  EXPECT_EQ(lattice.TextOf(static_cast<std::uint32_t>(characters) + 1), second) << "the first of equals";
  EXPECT_EQ(lattice.TextOf(static_cast<std::uint32_t>(characters) + 2), used);
  EXPECT_EQ(lattice.TextOf(static_cast<std::uint32_t>(characters) + 3), likely) << "the greatest share";
}

}  // namespace
}  // namespace pipeline
