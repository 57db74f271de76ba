#include "text/unigram/expected_counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/text/unigram/small_lattice.h"
#include "text/unigram/exact_math.h"

namespace pipeline {
namespace {

/// Adds the share of each way through the rest of a word, times `count`, to its pieces; returns the sum of
/// these shares.
double AddWays(const PieceLattice& lattice, std::uint32_t at, double share, std::vector<std::uint32_t>& way,
               const std::function<void(double share)>& take) {
  if (lattice.words().symbols[at] == kWordEnd) {
    take(share);
    return share;
  }
  double sum = 0;
  const auto go = [&](std::uint32_t piece) {
    way.push_back(piece);
    const PieceLattice::Piece& one = lattice.pieces()[piece];
    sum += AddWays(lattice, at + one.length, share * one.share, way, take);
    way.pop_back();
  };
  go(lattice.words().symbols[at]);
  for (const std::uint32_t piece : lattice.At(at)) go(piece);
  return sum;
}

std::vector<double> CountsOfAllWays(const PieceLattice& lattice) {
  std::vector<double> counts(lattice.pieces().size(), 0);
  for (std::size_t word = 0; word < lattice.words().size(); ++word) {
    std::vector<std::uint32_t> way;
    const std::uint32_t begin = lattice.words().begins[word];
    const double all = AddWays(lattice, begin, 1, way, [](double) {});
    AddWays(lattice, begin, 1, way, [&](double share) {
      for (const std::uint32_t piece : way)
        counts[piece] += share / all * static_cast<double>(lattice.words().counts[word]);
    });
  }
  return counts;
}

TEST(ExpectedCountsTest, CountsAreThoseOfAllWaysThroughTheWords) {
  for (std::uint32_t run = 0; run < 10; ++run) {
    const PieceLattice lattice = LatticeOf(RandomTrainingWords(run, 60, 9));
    const std::vector<double> counts = *ExpectedCounts(lattice, 1, {}), expected = CountsOfAllWays(lattice);
    ASSERT_EQ(counts.size(), expected.size());
    for (std::size_t piece = 1; piece < counts.size(); ++piece)
      EXPECT_NEAR(counts[piece], expected[piece], 1e-6) << lattice.TextOf(static_cast<std::uint32_t>(piece));
  }
}

TEST(ExpectedCountsTest, AnyNumberOfThreadsGivesTheSameNumbers) {
  const PieceLattice lattice = LatticeOf(RandomTrainingWords(3, 30'000, 12));
  ASSERT_GT(lattice.blocks().size(), 7u);
  const std::vector<double> counts = *ExpectedCounts(lattice, 1, {});
  for (const std::size_t threads : {2U, 3U, 7U, 100U})
    EXPECT_EQ(*ExpectedCounts(lattice, threads, {}), counts);
}

// A word of 5,000 rare characters: its probability is far below the smallest double.
TEST(ExpectedCountsTest, LongWordsHaveFiniteCounts) {
  CountedWords words = RandomWords(9, 200, 6);
  words.Add("a", 1'000'000'000'000);
  std::string text;
  for (int at = 0; at < 2'500; ++at) text += "xy";
  words.Add(text, 3);
  words.Add("zz" + text + "zz", 1);
  PieceLattice lattice = LatticeOf(*MakeTrainingWords(words, {}, {}), 8);
  for (int round = 0; round < 3; ++round) {
    const std::vector<double> counts = *ExpectedCounts(lattice, 1, {});
    double characters = 0;
    for (std::uint32_t piece = 1; piece < counts.size(); ++piece) {
      ASSERT_TRUE(std::isfinite(counts[piece]) && counts[piece] >= 0);
      characters += counts[piece] * lattice.pieces()[piece].length;
    }
    double expected = 0;
    for (std::size_t word = 0; word < lattice.words().size(); ++word)
      expected += static_cast<double>(lattice.words().counts[word]) * lattice.words().length(word);
    EXPECT_NEAR(characters / expected, 1, 1e-12);
    double of_xy = 0;  // each x is in one piece; the unit of 10^12 characters is 2^-21
    for (std::uint32_t piece = 1; piece < counts.size(); ++piece) {
      const std::string piece_text = lattice.TextOf(piece);
      of_xy += counts[piece] * static_cast<double>(std::count(piece_text.begin(), piece_text.end(), 'x'));
    }
    EXPECT_NEAR(of_xy, 4 * 2'500, 1);
    SetShares(counts, 0, lattice);
  }
}

TEST(SetSharesTest, RarePiecesGoUnlessTooFewWouldBeLeft) {
  CountedWords words;
  words.Add("ab", 10);
  words.Add("abc", 10);
  words.Add("c", 3);
  PieceLattice lattice = LatticeOf(*MakeTrainingWords(words, {.required = {"z"}}, {}));
  ASSERT_EQ(lattice.size(), 6u);  // a b c z, ab abc
  std::vector<double> counts = {0, 4, 4, 4, 0, 6, 0.4};
  EXPECT_EQ(SetShares(counts, 6, lattice), 6u);
  EXPECT_GT(lattice.pieces()[6].share, 0);
  EXPECT_EQ(SetShares(counts, 5, lattice), 5u);
  EXPECT_EQ(lattice.pieces()[6].share, 0);
  EXPECT_EQ(SetShares(counts, 6, lattice), 5u) << "a piece that is gone does not come back";
  const double whole = ExpDigamma(18.5);
  EXPECT_DOUBLE_EQ(lattice.pieces()[1].share, ExpDigamma(4) / whole);
  EXPECT_DOUBLE_EQ(lattice.pieces()[4].share, ExpDigamma(0.5) / whole)
      << "a required character that no word has";
}

TEST(ExpectedCountsTest, AStopEndsIt) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(ExpectedCounts(LatticeOf(RandomTrainingWords(1, 100, 5)), 2, stop.get_token()));
}

}  // namespace
}  // namespace pipeline
