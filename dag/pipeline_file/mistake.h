// A mistake in a pipeline file, with its position.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"

namespace pipeline {

/// Line and column count from 1, columns in characters. 0: the mistake is not in the file but in a --set on
/// the command line.
struct FilePosition {
  int line = 0;
  int column = 0;
  bool operator==(const FilePosition&) const = default;
};

/// One mistake; prints as "FILE:LINE:COLUMN: what; did you mean ...".
struct Mistake {
  FilePosition at;
  std::string message;
  bool operator==(const Mistake&) const = default;
};

/// Returns "FILE:LINE:COLUMN: message", or "FILE: message" without a position.
inline std::string ToString(const Mistake& mistake, std::string_view file) {
  if (mistake.at.line == 0) return StrCat(file, ": ", mistake.message);
  return StrCat(file, ":", mistake.at.line, ":", mistake.at.column, ": ", mistake.message);
}

/// Returns "; did you mean 'X'?" for the candidate that `word` probably means; empty: there is none.
template <class Range>
std::string DidYouMean(std::string_view word, const Range& candidates) {
  constexpr std::size_t kLongestWord = 64;  // edit distances of long texts are slow and useless
  if (word.size() > kLongestWord) return {};
  std::vector<std::string_view> words;
  for (std::string_view candidate : candidates)
    if (candidate.size() <= kLongestWord) words.push_back(candidate);
  const std::string_view nearest = NearestWord(word, words);
  return nearest.empty() ? std::string() : StrCat("; did you mean '", nearest, "'?");
}

/// As DidYouMean; if no candidate is near: "; there are 'A', 'B'", the first of them. For names of a person.
template <class Range>
std::string NamesLike(std::string_view word, const Range& candidates) {
  constexpr std::size_t kMostNames = 12;
  std::string text = DidYouMean(word, candidates);
  if (!text.empty()) return text;
  std::size_t named = 0;
  for (std::string_view candidate : candidates) {
    if (named == kMostNames) return text + ", …";
    text += StrCat(named++ == 0 ? "; there are " : ", ", "'", candidate, "'");
  }
  return text;
}

}  // namespace pipeline
