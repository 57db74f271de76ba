// Builds messages.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace pipeline {

namespace str_internal {

/// An argument of StrCat: refers to a text, or holds the digits of a number.
class Piece {
 public:
  explicit Piece(std::string_view text) : text_(text) {}
  explicit Piece(char character) : digits_{character}, text_(digits_, 1) {}
  template <std::integral T>
  requires(!std::same_as<T, char>) explicit Piece(T number) {
    if constexpr (std::is_signed_v<T>)
      Spell(std::int64_t{number});
    else
      Spell(std::uint64_t{number});
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  std::string_view text() const { return text_; }

 private:
  void Spell(std::int64_t number);
  void Spell(std::uint64_t number);
  char digits_[20];  // of the lowest and of the greatest number
  std::string_view text_;
};

std::string Concatenate(std::initializer_list<Piece> pieces);

}  // namespace str_internal

/// Concatenates strings, characters and integers.
template <class... Pieces>
std::string StrCat(const Pieces&... pieces) {
  return str_internal::Concatenate({str_internal::Piece(pieces)...});
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
