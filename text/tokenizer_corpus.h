// What of a text a tokenizer is trained on: its lines cut into sentences, or its distinct morphemes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

namespace pipeline {

using TakeSentence = std::function<Status(std::string_view sentence)>;

/// The library passes over sentences with U+2585, its mark for what is unknown: sentences are cut there.
inline constexpr std::string_view kReservedMark = "\u2585";
/// Stands for a space in pieces; one in the text comes back as a space.
inline constexpr std::string_view kSpaceMark = "\u2581";

/// Cuts `line` into sentences of at most `limit` bytes (at least 8): at the last end of a sentence that fits,
/// else behind the last white space, else between two characters. Nothing of it is lost but reserved marks.
/// Gives how many cuts it took. `line` is UTF-8.
Result<std::uint64_t> CutIntoSentences(std::string_view line, std::size_t limit, const TakeSentence& take);

/// The morphemes of `line`, joined by one space each, as sentences of at most `limit` bytes; a morpheme that
/// is longer is a sentence of its own and cut as above. White space around morphemes goes.
Result<std::uint64_t> JoinMorphemes(std::string_view line, std::span<const std::uint32_t> cuts,
                                    std::size_t limit, const TakeSentence& take);

/// What a morpheme that begins a word is counted as.
enum class WordStarts : std::uint8_t {
  kDropped,            // the same as inside of a word
  kBehindSpace,        // another one, with a space in front, where white space is in front of it
  kBehindSpaceOrLine,  // and where a line begins
};

/// Counts distinct morphemes. A trainer that takes each of them as a sentence with its count learns the
/// same as from all of them, in a fraction of the memory: a corpus has about 18 √bytes.
class MorphemeCounts {
 public:
  explicit MorphemeCounts(WordStarts starts = WordStarts::kDropped) : starts_(starts) {}

  /// A morpheme is cut at spaces, tabs, U+2581 and reserved marks, which no piece may hold but in front.
  void Add(std::string_view line, std::span<const std::uint32_t> cuts);

  std::size_t distinct() const { return counts_.size(); }
  std::uint64_t total() const { return total_; }
  /// What this object holds, roughly.
  std::uint64_t memory() const { return memory_; }

  /// Each morpheme with its count, sorted, as the library's lines "TEXT\tCOUNT". The library learns as
  /// pieces what is followed by different things, so that a morpheme that always ends where it ends would
  /// never be one: one occurrence of each is followed by a space. Another space in front begins a word.
  Status Feed(const TakeSentence& take) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void Count(std::string_view morpheme, bool begins_word);

  WordStarts starts_;
  std::string marked_;  // a morpheme with its space
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t memory_ = 0;
};

}  // namespace pipeline
