// A vocab.txt for tests of rows: 512 pieces with few of text.
#pragma once

#include <string>
#include <string_view>

#include "base/str.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "text/wordpiece.h"

namespace pipeline {

inline constexpr std::uint32_t kCls = 2, kSep = 3;
/// From this id on, each of these characters as a piece, then each with ## in front.
inline constexpr std::uint32_t kFirstOfWords = 10;
inline constexpr std::string_view kWordCharacters = "abcdefghijklmnopqrstuvwxyz0123456789.-";

inline std::uint32_t BeginOf(char character) {
  return kFirstOfWords + static_cast<std::uint32_t>(kWordCharacters.find(character));
}
inline std::uint32_t InsideOf(char character) {
  return BeginOf(character) + static_cast<std::uint32_t>(kWordCharacters.size());
}

/// `without`: a piece that another one replaces.
inline std::string WordModel(std::string_view without = {}) {
  std::string text;
  for (std::uint32_t id = 0; id < 512; ++id) {
    const std::uint32_t character = id - kFirstOfWords, characters = kWordCharacters.size();
    std::string piece = StrCat("p", id);
    if (id < kSpecialPieces.size()) piece = kSpecialPieces[id];
    if (id >= kFirstOfWords && character < 2 * characters)
      piece = StrCat(character < characters ? "" : kContinuation,
                     std::string(1, kWordCharacters[character % characters]));
    text += StrCat(piece == without ? StrCat("p", id) : piece, "\n");
  }
  return text;
}

inline TokenizerFacts WordTokenizer(std::string_view model) {
  return FactsOfVocabulary(*WordPieceVocabulary::Parse(model), kBertVocabularyFile, model);
}

}  // namespace pipeline
