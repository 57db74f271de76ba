#include "text/unigram/exact_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace pipeline {
namespace {

TEST(ExactMathTest, TheLogarithmIsThatOfTheCLibrary) {
  for (double number = 1e-300; number < 1e300; number *= 1.37)
    EXPECT_NEAR(ExactLog(number), std::log(number), 1e-15 * std::abs(std::log(number))) << number;
  for (double number = 0.9; number < 1.1; number += 0.0003)
    EXPECT_NEAR(ExactLog(number), std::log(number), 1e-16) << number;
  EXPECT_EQ(ExactLog(1), 0);
}

TEST(ExactMathTest, TheExponentialFunctionIsThatOfTheCLibrary) {
  for (double exponent = -700; exponent < 700; exponent += 0.37)
    EXPECT_NEAR(ExactExp(exponent) / std::exp(exponent), 1, 1e-15) << exponent;
  EXPECT_EQ(ExactExp(0), 1);
}

// digamma(1) is -gamma, digamma(1/2) is -gamma - 2 ln 2, and digamma(x + 1) is digamma(x) + 1/x.
TEST(ExactMathTest, DigammaHasItsKnownValues) {
  constexpr double kGamma = 0.57721566490153286;
  double digamma = -kGamma;
  for (int x = 1; x < 1000; ++x) {
    EXPECT_NEAR(ExpDigamma(x) / std::exp(digamma), 1, 1e-9) << x;
    digamma += 1.0 / x;
  }
  EXPECT_NEAR(ExpDigamma(0.5) / std::exp(-kGamma - 2 * std::log(2)), 1, 1e-9);
  EXPECT_NEAR(ExpDigamma(1e18) / 1e18, 1, 1e-12);
}

// The bits themselves: another machine or compiler must give them, too.
TEST(ExactMathTest, EveryMachineGivesTheseBits) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(ExactLog(0.1)), 0xc0026bb1bbb55515u);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(ExactExp(-2.3)), 0x3fb9aa9046ec997cu);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(ExpDigamma(0.7)), 0x3fd2e4efe7794d6du);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(ExpDigamma(123456.789)), 0x40fe24049fbed162u);
}

}  // namespace
}  // namespace pipeline
