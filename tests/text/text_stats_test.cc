#include "text/text_stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "text/unicode.h"

namespace pipeline {
namespace {

TEST(HistogramTest, OfNothing) {
  const Histogram none;
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.min(), 0u);
  EXPECT_EQ(none.max(), 0u);
  EXPECT_EQ(none.mean(), 0);
  EXPECT_EQ(none.Quantile(0.5), 0u);
  EXPECT_TRUE(none.Octaves().empty());
}

TEST(HistogramTest, QuantilesAreExactBelow64AndNearAbove) {
  std::mt19937 random(6);
  for (const unsigned most : {1u, 60u, 1000u, 5'000'000u}) {
    Histogram histogram;
    std::vector<std::uint64_t> numbers;
    for (int i = 0; i < 1001; ++i) {
      numbers.push_back(random() % most);
      histogram.Add(numbers.back());
    }
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(histogram.min(), numbers.front());
    EXPECT_EQ(histogram.max(), numbers.back());
    EXPECT_EQ(histogram.Quantile(1), numbers.back());
    for (const double fraction : {0.0, 0.05, 0.5, 0.99}) {
      const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(fraction * 1001))) - 1;
      const std::uint64_t quantile = histogram.Quantile(fraction);
      EXPECT_GE(quantile, numbers[rank]);
      EXPECT_LE(quantile, numbers[rank] + numbers[rank] / 32);
      if (numbers[rank] < 64) {
        EXPECT_EQ(quantile, numbers[rank]);
      }
    }
  }
}

TEST(HistogramTest, OctavesHoldEveryNumberOnce) {
  Histogram histogram;
  for (std::uint64_t number = 3; number < 5000; ++number) histogram.Add(number);
  const std::vector<Histogram::Range> octaves = histogram.Octaves();
  ASSERT_EQ(octaves.size(), 12u);
  EXPECT_EQ(octaves.front().low, 2u);
  EXPECT_EQ(octaves.front().count, 1u);
  EXPECT_EQ(octaves[4].low, 32u);
  EXPECT_EQ(octaves[4].high, 63u);
  EXPECT_EQ(octaves[4].count, 32u);
  EXPECT_EQ(octaves[10].count, 2048u);
  EXPECT_EQ(octaves.back().high, 8191u);
  EXPECT_EQ(octaves.back().count, 5000u - 4096u);

  Histogram ends;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0} >> 1})
    ends.Add(number);
  EXPECT_EQ(ends.Octaves().front().high, 0u);
  EXPECT_EQ(ends.Octaves()[1].high, 1u);
  EXPECT_EQ(ends.Octaves().size(), 64u);
}

TEST(TextStatsTest, CountsCharactersBytesAndClasses) {
  const CharacterClasses classes = UnicodeClasses();
  TextStats stats(classes);
  std::string long_text;
  for (int i = 0; i < 5000; ++i) long_text += "漢a";  // more than a piece
  for (const std::string_view text :
       {std::string_view("猫が 鳴く。"), std::string_view(), std::string_view(long_text)})
    stats.Add(text);
  EXPECT_EQ(stats.bytes(), 16u + 20'000u);
  EXPECT_EQ(stats.characters().sum(), 10'006u);
  EXPECT_EQ(
      stats.ToJson().Dump(),
      R"({"bytes":20016,"characters":{"histogram":[[0,0,1],[1,1,0],[2,3,0],[4,7,1],[8,15,0],[16,31,0],)"
      R"([32,63,0],[64,127,0],[128,255,0],[256,511,0],[512,1023,0],[1024,2047,0],[2048,4095,0],)"
      R"([4096,8191,0],[8192,16383,1]],"max":10000,"mean":3335.3333333333335,"min":0,)"
      R"("quantiles":{"0.05":0,"0.25":0,"0.5":6,"0.75":10000,"0.95":10000,"0.99":10000},"sum":10006},)"
      R"("classes":{"digits":0,"hangul":0,"hiragana":2,"kanji":5002,"katakana":0,"latin":5000,"none":1,)"
      R"("other":0,"punctuation":1,"symbols":0},"records":3})");
}

}  // namespace
}  // namespace pipeline
