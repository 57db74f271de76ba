// Builds messages.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipeline {

namespace str_internal {
inline void Append(std::string& out, std::string_view piece) { out.append(piece); }
inline void Append(std::string& out, char piece) { out.push_back(piece); }
template <std::integral T>
requires(!std::same_as<T, char>) void Append(std::string& out, T piece) { out.append(std::to_string(piece)); }
}  // namespace str_internal

/// Concatenates strings, characters and integers.
template <class... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  (str_internal::Append(out, pieces), ...);
  return out;
}

/// "1.5 GiB", "312 B": for people, never parsed back.
std::string HumanBytes(std::uint64_t bytes);

/// Returns `number` in decimal, padded with zeros to `width`: "00012".
std::string ZeroPadded(std::uint64_t number, int width);

/// True if `pattern` matches all of `name`: `*` is any run of bytes, `?` is one character.
bool MatchesPattern(std::string_view pattern, std::string_view name);

/// Returns the candidate nearest to `word` in edit distance, if it is near enough for a typing mistake;
/// else empty. `candidates`: any range of values that convert to string_view.
template <class Range>
std::string_view NearestWord(std::string_view word, const Range& candidates);

/// Number of edits (insert, delete, replace, swap of neighbours) between two words.
std::size_t EditDistance(std::string_view a, std::string_view b);

template <class Range>
std::string_view NearestWord(std::string_view word, const Range& candidates) {
  std::string_view best;
  std::size_t best_distance = word.size() < 4 ? 2 : 3;  // a larger distance means another word
  for (std::string_view candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) best_distance = distance, best = candidate;
  }
  return best;
}

}  // namespace pipeline
