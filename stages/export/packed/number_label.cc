#include "stages/export/packed/number_label.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/words.h"

namespace pipeline {

namespace {

// Outside of these an exponent is shorter, or as long.
constexpr double kLeastPlain = 1e-4;
constexpr double kAbovePlain = 1e16;

}  // namespace

std::optional<std::string> NumberLabel(std::string_view label) {
  if (label.starts_with('+') && !label.starts_with("+-")) label.remove_prefix(1);
  const auto parsed = ParseNumber<double>(label);
  if (!parsed || !std::isfinite(*parsed)) return std::nullopt;
  const double number = *parsed == 0 ? 0 : *parsed;  // -0 is the same number
  const double size = std::abs(number);
  const bool plain = size == 0 || (size >= kLeastPlain && size < kAbovePlain);
  std::array<char, kLongestNumber> text;
  const auto [behind, full] = std::to_chars(text.data(), text.data() + text.size(), number,
                                            plain ? std::chars_format::fixed : std::chars_format::scientific);
  if (full != std::errc()) return std::nullopt;                    // no double is longer
  const char* const last = std::remove(text.data(), behind, '+');  // 1e+30 is 1e30
  return std::string(static_cast<const char*>(text.data()), last);
}

}  // namespace pipeline
