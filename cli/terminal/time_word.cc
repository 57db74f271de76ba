#include "cli/terminal/time_word.h"

#include <charconv>
#include <system_error>

namespace pipeline {

std::optional<std::chrono::seconds> ParseTimeWord(std::string_view word) {
  if (word.empty()) return std::nullopt;
  const char unit = word.back();
  word.remove_suffix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number <= 0 || number > 1'000'000)
    return std::nullopt;
  switch (unit) {
    case 's': return std::chrono::seconds(number);
    case 'm': return std::chrono::minutes(number);
    case 'h': return std::chrono::hours(number);
    default: return std::nullopt;
  }
}

std::string RefuseTimeWord(const std::string& word) {
  return ParseTimeWord(word) ? "" : "is no time such as 90s, 30m or 2h";
}

}  // namespace pipeline
