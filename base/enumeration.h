// Lists and counts things in a message.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"

namespace pipeline {

/// "1 record", "7 records": `one`, the noun of a single thing, gets an s for every other number.
inline std::string Counted(std::uint64_t number, std::string_view one) {
  return StrCat(number, " ", one, number == 1 ? "" : "s");
}

/// "a, b and c": `last` is "and" or the like. `words`: any range of strings.
template <class Range>
std::string Enumeration(const Range& words, std::string_view last) {
  const std::string end = StrCat(" ", last, " ");
  std::string text;
  std::size_t left = std::size(words);
  for (const auto& word : words) {
    --left;
    text += text.empty() ? StrCat(word) : StrCat(left == 0 ? end : ", ", word);
  }
  return text;
}

/// "a,b,c": `words` with `between` between them.
template <class Range>
std::string Join(const Range& words, std::string_view between) {
  std::string text;
  for (const auto& word : words) text += StrCat(text.empty() ? "" : between, word);
  return text;
}

/// "a, b, c and 4 more": the first names of a list, for one line of text.
inline std::string FirstOf(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const std::string text = Join(std::span(names).first(std::min(names.size(), kShown)), ", ");
  return names.size() <= kShown ? text : StrCat(text, " and ", names.size() - kShown, " more");
}

}  // namespace pipeline
