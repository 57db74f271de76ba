#include "stages/tokenizer/normalized_words.h"

#include <algorithm>
#include <string_view>

#include "text/tokenizer_corpus.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

/// Returns the bytes of the longest symbol at the front of `text`; 0: there is none.
std::size_t SymbolAt(std::string_view text, const std::vector<std::string>& symbols) {
  std::size_t longest = 0;
  for (const std::string& symbol : symbols)
    if (text.starts_with(symbol)) longest = std::max(longest, symbol.size());
  return longest;
}

}  // namespace

CountedWords NormalizedWords(const CountedWords& words, const Charsmap& charsmap,
                             const std::vector<std::string>& symbols, WordStarts starts) {
  CountedWords out;
  PreTokens pre_tokens(starts);
  std::string normal;
  for (const auto& [word, count] : words.All()) {
    const bool begins_word = word.starts_with(kSpaceMark);
    std::string_view left = begins_word ? word.substr(kSpaceMark.size()) : word;
    normal.clear();
    while (!left.empty()) {
      std::size_t bytes = SymbolAt(left, symbols);
      if (bytes > 0) {
        normal.append(left.substr(0, bytes));
      } else if (const Charsmap::Match match = charsmap.Longest(left); match.bytes > 0) {
        normal.append(match.replacement);
        bytes = match.bytes;
      } else {
        bytes = CharacterAt(left.data()).bytes;
        normal.append(left.substr(0, bytes));
      }
      left.remove_prefix(bytes);
    }
    pre_tokens.CountText(normal, begins_word, count, out);
  }
  return out;
}

}  // namespace pipeline
