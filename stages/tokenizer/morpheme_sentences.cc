#include "stages/tokenizer/morpheme_sentences.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/str.h"

namespace pipeline {

namespace {

struct Morpheme {
  bool begins_word;
  std::string_view text;  // without the mark
  std::uint64_t count;
};

}  // namespace

Status FeedMorphemes(const CountedWords& words, const TakeSentence& take) {
  std::vector<Morpheme> sorted;
  sorted.reserve(words.distinct());
  for (const auto& [word, count] : words.All()) {
    const bool begins_word = word.starts_with(kSpaceMark);
    sorted.push_back({begins_word, begins_word ? word.substr(kSpaceMark.size()) : word, count});
  }
  // The order of the lines with their spaces.
  std::sort(sorted.begin(), sorted.end(), [](const Morpheme& a, const Morpheme& b) {
    return std::tie(b.begins_word, a.text) < std::tie(a.begins_word, b.text);
  });
  for (const Morpheme& morpheme : sorted) {
    const std::string text = StrCat(morpheme.begins_word ? " " : "", morpheme.text);
    RETURN_IF_ERROR(take(StrCat(text, '\t', morpheme.count > 1 ? morpheme.count - 1 : 1)));
    if (morpheme.count > 1) RETURN_IF_ERROR(take(StrCat(text, " \t", 1)));
  }
  return {};
}

}  // namespace pipeline
