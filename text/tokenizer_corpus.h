// Training data of a tokenizer: the lines of a text, cut into sentences, or its distinct morphemes.
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

/// The library marks unknown text with U+2585 and skips sentences that contain it: sentences are cut there.
inline constexpr std::string_view kReservedMark = "\u2585";
/// Represents a space in pieces; in text it is decoded as a space.
inline constexpr std::string_view kSpaceMark = "\u2581";

/// Cuts `line` (UTF-8) into sentences of at most `limit` bytes (at least 8): after the last sentence end
/// that fits, else after the last white space, else between two characters. Only reserved marks are lost.
/// Returns the number of cuts.
Result<std::uint64_t> CutIntoSentences(std::string_view line, std::size_t limit, const TakeSentence& take);

/// Joins the morphemes of `line` with single spaces into sentences of at most `limit` bytes. A longer
/// morpheme is a sentence of its own and is cut as above. Drops white space around morphemes. Returns the
/// number of cuts.
Result<std::uint64_t> JoinMorphemes(std::string_view line, std::span<const std::uint32_t> cuts,
                                    std::size_t limit, const TakeSentence& take);

/// Counting of a morpheme that begins a word.
enum class WordStarts : std::uint8_t {
  kDropped,            // as inside a word
  kBehindSpace,        // separately, with a space in front, if it follows white space
  kBehindSpaceOrLine,  // and also at the beginning of a line
};

/// Counts distinct morphemes. A trainer that receives each one once, with its count, learns the same as
/// from all occurrences, with a fraction of the memory: a corpus has about 18 √bytes distinct morphemes.
class MorphemeCounts {
 public:
  explicit MorphemeCounts(WordStarts starts = WordStarts::kDropped) : starts_(starts) {}

  /// Counts the morphemes of `line`. Cuts them at spaces, tabs, U+2581 and reserved marks, which a piece
  /// may hold only at its front.
  void Add(std::string_view line, std::span<const std::uint32_t> cuts);

  std::size_t distinct() const { return counts_.size(); }
  std::uint64_t total() const { return total_; }
  /// Approximate bytes that this object holds.
  std::uint64_t memory() const { return memory_; }

  /// Passes each morpheme with its count, sorted, as the library's lines "TEXT\tCOUNT". The library learns
  /// a text as a piece only if different characters follow it, so a morpheme that always ends a sentence
  /// would be lost. Therefore one occurrence of each morpheme has a space behind it, unless there is only
  /// one. A space in front marks the beginning of a word.
  Status Feed(const TakeSentence& take) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void Count(std::string_view morpheme, bool begins_word);

  WordStarts starts_;
  std::string marked_;  // a morpheme with a space in front
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t memory_ = 0;
};

}  // namespace pipeline
