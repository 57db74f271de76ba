#include "text/unigram/exact_math.h"

#include <bit>
#include <cstdint>

namespace pipeline {

namespace {

constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;  // the bits of 1.0
// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fefap-1, kLn2Low = 0x1.cf79abc9e3b3ap-40;
constexpr double kRoot2 = 0x1.6a09e667f3bcdp0, kLog2E = 0x1.71547652b82fep0;

}  // namespace

// log m = 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1), for a mantissa m near 1.
double ExactLog(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  double exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  auto mantissa = std::bit_cast<double>((bits & kMantissa) | kOne);
  if (mantissa > kRoot2) mantissa *= 0.5, exponent += 1;
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 1.0 / 23;
  for (int odd = 21; odd >= 3; odd -= 2) sum = sum * square + 1.0 / odd;
  return exponent * kLn2High + (exponent * kLn2Low + 2 * s * (sum * square + 1));
}

// 2^k e^r, where r is so small that its power series is short.
double ExactExp(double exponent) {
  const double scaled = exponent * kLog2E;
  const auto k = static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  const auto number = static_cast<double>(k);
  const double r = (exponent - number * kLn2High) - number * kLn2Low;
  double sum = 1;
  for (int term = 14; term >= 1; --term) sum = 1 + sum * r / term;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// digamma(x) = digamma(x + 1) - 1/x leads to the series for large numbers.
double ExpDigamma(double x) {
  double less = 0;
  for (; x < 8; x += 1) less += 1 / x;
  const double t = x - 0.5;
  const double u = 1 / (t * t);
  const double large =
      t * (1 + u * (1.0 / 24 + u * (-37.0 / 5760 + u * (10313.0 / 2903040 - u * 5509121.0 / 1393459200))));
  return less == 0 ? large : large * ExactExp(-less);
}

}  // namespace pipeline
