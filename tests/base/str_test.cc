#include "base/str.h"

#include <gtest/gtest.h>

#include <array>

namespace pipeline {
namespace {

TEST(StrTest, ConcatenatesStringsCharactersAndNumbers) {
  EXPECT_EQ(StrCat("a", 'b', 12, std::string("c"), std::uint64_t{18446744073709551615u}),
            "ab12c18446744073709551615");
}

TEST(StrTest, HumanBytesKeepsTwoOrThreeDigits) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1536), "1.50 KiB");
  EXPECT_EQ(HumanBytes(std::uint64_t{64} << 20), "64.0 MiB");
}

TEST(StrTest, ZeroPaddedNeverCuts) {
  EXPECT_EQ(ZeroPadded(12, 5), "00012");
  EXPECT_EQ(ZeroPadded(1234567, 5), "1234567");
}

TEST(StrTest, ASwapOfNeighboursIsOneEdit) {
  EXPECT_EQ(EditDistance("fomr", "form"), 1u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(StrTest, NearestWordIsEmptyForAnotherWord) {
  constexpr std::array<std::string_view, 2> kWords = {"form", "strip"};
  EXPECT_EQ(NearestWord("fom", kWords), "form");
  EXPECT_EQ(NearestWord("dictionary", kWords), "");
}

TEST(StrTest, PatternsMatchWholeNames) {
  EXPECT_TRUE(MatchesPattern("*.txt", "a/b.txt"));
  EXPECT_TRUE(MatchesPattern("猫?.t*t", "猫犬.text"));
  EXPECT_TRUE(MatchesPattern("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(MatchesPattern("*.txt", "a.txt.gz"));
  EXPECT_FALSE(MatchesPattern("a?", "a"));
  EXPECT_TRUE(MatchesPattern("", ""));
}

}  // namespace
}  // namespace pipeline
