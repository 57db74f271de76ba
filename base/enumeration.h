// Lists words in a message.
#pragma once

#include <iterator>
#include <string>
#include <string_view>

#include "base/str.h"

namespace pipeline {

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

}  // namespace pipeline
