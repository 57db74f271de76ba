// The words that a tokenizer is trained on: parts of lines that no piece leaves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/character_class.h"
#include "text/tokenizer_corpus.h"
#include "text/unigram/counted_words.h"

namespace pipeline {

/// Which parts of a line get U+2581 in front.
enum class WordStarts : std::uint8_t {
  kDropped,            // none
  kBehindSpace,        // those that follow white space
  kBehindSpaceOrLine,  // and also the first one of a line
  kEverywhere,         // all
};

/// A longer part is cut between characters: no word is as long, and a line of one character that repeats
/// would have pieces of each length at each of its characters.
inline constexpr std::size_t kMostPartBytes = 1024;

/// Counts the pre-tokens of lines. One thread at a time.
class PreTokens {
 public:
  explicit PreTokens(WordStarts starts) : starts_(starts) {}

  /// Counts the parts of `line` (clean UTF-8) that end at `cuts`, of which the last is line.size(); a part is
  /// also cut at spaces, tabs, U+2581 and reserved marks, which belong to none. U+2581 is put in front of a
  /// part that begins a word.
  void Count(std::string_view line, std::span<const std::uint32_t> cuts, CountedWords& words);

  /// Counts `count` times the parts of `text` between separators. `begins_word`: the first part does.
  void CountText(std::string_view text, bool begins_word, std::uint64_t count, CountedWords& words);

 private:
  std::string_view Word(std::string_view part, bool begins_word);

  WordStarts starts_;
  std::string marked_;  // a part with U+2581 in front
};

/// Whether kanji, hiragana and katakana are three scripts or one.
enum class JapaneseScripts : std::uint8_t { kThree, kOne };

/// Replaces `cuts` by the ends of the runs of `line` whose characters have one class: kanji, hiragana, digits
/// and so on. A character without a class, such as a space or a combining mark, belongs to the run before it.
void FindScriptCuts(std::string_view line, const CharacterClasses& classes, JapaneseScripts japanese,
                    std::vector<std::uint32_t>& cuts);

}  // namespace pipeline
