#include "text/unigram/pre_tokens.h"

#include "text/utf8.h"

namespace pipeline {

namespace {

/// Returns the bytes of the separator at `at`; 0: there is none.
std::size_t SeparatorAt(std::string_view text, std::size_t at) {
  if (text[at] == ' ' || text[at] == '\t') return 1;
  if (text[at] != kSpaceMark[0]) return 0;
  const std::string_view mark = text.substr(at, kSpaceMark.size());
  return mark == kSpaceMark || mark == kReservedMark ? mark.size() : 0;
}

/// Calls `take` with `part`, or with its pieces of at most kMostPartBytes. `begins_word`: the first one does.
template <class Take>
void ForEachPiece(std::string_view part, bool begins_word, const Take& take) {
  while (part.size() > kMostPartBytes) {
    std::size_t end = kMostPartBytes;
    while (IsUtf8Tail(part[end])) --end;
    take(part.substr(0, end), begins_word);
    part.remove_prefix(end);
    begins_word = false;
  }
  take(part, begins_word);
}

/// Calls `take` with each part of `text` that is not empty, and whether it begins a word.
template <class Take>
void ForEachPart(std::string_view text, WordStarts starts, bool& begins_word, const Take& take) {
  std::size_t begin = 0;
  const auto part = [&](std::size_t end) {
    if (end == begin) return;
    ForEachPiece(text.substr(begin, end - begin), begins_word, take);
    begins_word = starts == WordStarts::kEverywhere;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t separator = SeparatorAt(text, at);
    if (separator == 0) {
      ++at;
      continue;
    }
    part(at);
    begins_word = starts == WordStarts::kEverywhere ||
                  (starts != WordStarts::kDropped && !text.substr(at).starts_with(kReservedMark));
    begin = at += separator;
  }
  part(text.size());
}

}  // namespace

std::string_view PreTokens::Word(std::string_view part, bool begins_word) {
  return begins_word ? std::string_view(marked_.assign(kSpaceMark).append(part)) : part;
}

void PreTokens::Count(std::string_view line, std::span<const std::uint32_t> cuts, CountedWords& words) {
  bool begins_word = starts_ >= WordStarts::kBehindSpaceOrLine;
  std::size_t begin = 0;
  for (const std::uint32_t end : cuts) {
    ForEachPart(line.substr(begin, end - begin), starts_, begins_word,
                [&](std::string_view part, bool begins) { words.Add(Word(part, begins)); });
    begin = end;
  }
}

void PreTokens::CountText(std::string_view text, bool begins_word, std::uint64_t count, CountedWords& words) {
  ForEachPart(text, starts_, begins_word,
              [&](std::string_view part, bool begins) { words.Add(Word(part, begins), count); });
}

void FindScriptCuts(std::string_view line, const CharacterClasses& classes, JapaneseScripts japanese,
                    std::vector<std::uint32_t>& cuts) {
  const auto class_of = [&classes, japanese](char32_t code) {
    const CharacterClass one = classes.Of(code);
    const bool is_kana = one == CharacterClass::kHiragana || one == CharacterClass::kKatakana;
    return is_kana && japanese == JapaneseScripts::kOne ? CharacterClass::kKanji : one;
  };
  cuts.clear();
  CharacterClass run = CharacterClass::kNone;
  for (std::size_t at = 0; at < line.size();) {
    const Utf8Character character = CharacterAt(line.data() + at);
    const CharacterClass one = class_of(character.code);
    if (one != CharacterClass::kNone && one != run) {
      if (run != CharacterClass::kNone) cuts.push_back(static_cast<std::uint32_t>(at));
      run = one;
    }
    at += character.bytes;
  }
  if (!line.empty()) cuts.push_back(static_cast<std::uint32_t>(line.size()));
}

}  // namespace pipeline
