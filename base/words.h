// Words and numbers in text that is read.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace pipeline {

/// Removes the text up to `end`, and `end`, from the front of `text`; returns it without `end`. A text
/// without `end` is returned whole.
inline std::string_view TakeUntil(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

/// Removes the number at the front of `text`, and returns it: digits, perhaps a minus for a signed type; for
/// a floating-point type what std::from_chars takes. Absent: it is none, or outside of the type's range.
template <class Number>
std::optional<Number> TakeNumber(std::string_view& text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::integral<Number>)
    read = std::from_chars(text.data(), end, number, base);
  else
    read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

/// Returns the number that all of `text` is, as TakeNumber.
template <class Number>
std::optional<Number> ParseNumber(std::string_view text, int base = 10) {
  const std::optional<Number> number = TakeNumber<Number>(text, base);
  return text.empty() ? number : std::nullopt;
}

}  // namespace pipeline
