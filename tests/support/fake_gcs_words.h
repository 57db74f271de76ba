// The words of requests to a fake Google Cloud Storage, and of its faults, taken apart.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace pipeline {

/// Takes `literal` from the front of `text`; false, and nothing taken, if it does not stand there.
inline bool SkipWord(std::string_view& text, std::string_view literal) {
  if (text.substr(0, literal.size()) != literal) return false;
  text.remove_prefix(literal.size());
  return true;
}

/// The number that all of `text` is; absent if it is none.
inline std::optional<std::uint64_t> ParseWholeNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace pipeline
