#include <gtest/gtest.h>

#include <limits>

#include "base/str.h"
#include "stages/tokenizer/unigram_training.h"

namespace pipeline {
namespace {

TEST(WordTallyTest, FindsTheLeastCountWhoseWordsFit) {
  WordTally tally;
  for (int word = 0; word < 100'000; ++word) tally.Add(StrCat("rare", word), 1);
  for (int word = 0; word < 1000; ++word) tally.Add(StrCat("known", word), 3);
  tally.Add("猫", 500);
  EXPECT_EQ(tally.total(), 103'500u);
  const std::uint64_t all = tally.MemoryFrom(1), known = tally.MemoryFrom(2), one = tally.MemoryFrom(4);
  EXPECT_GT(all, known);
  EXPECT_GT(known, one);
  EXPECT_EQ(tally.MemoryFrom(3), known);
  EXPECT_EQ(tally.LeastThatFits(all), 1u);
  EXPECT_EQ(tally.LeastThatFits(all - 1), 2u);
  EXPECT_EQ(tally.LeastThatFits(known), 2u);
  EXPECT_EQ(tally.LeastThatFits(known - 1), 4u);
  EXPECT_EQ(tally.LeastThatFits(one - 1), 0u) << "nothing fits";
}

TEST(WordTallyTest, CountsEndAtTheLargestNumber) {
  WordTally tally;
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  tally.Add("a", most);
  tally.Add("b", 2);
  EXPECT_EQ(tally.total(), most);
  EXPECT_EQ(tally.LeastThatFits(most), 1u);
}

}  // namespace
}  // namespace pipeline
