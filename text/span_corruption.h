// T5's span corruption, as text: some spans of a line become sentinels, and a second text says what they
// were. Rules: formats/jsonl.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// Sentinels that a tokenizer of T5 has.
inline constexpr std::size_t kMostSentinels = 100;

/// What marks a sentinel in text: no text that is corrupted may hold it.
inline constexpr std::string_view kSentinelMark = "<extra_id_";
std::string SentinelText(std::size_t number);

/// Units are what spans are counted in: pieces of a tokenizer, morphemes or words.
struct SpanRules {
  double noise = 0.15;             // share of the units that sentinels stand for
  double mean_span = 3;            // units of a span
  std::uint32_t max_source = 512;  // units, sentinels and one eos of a source
};

/// kInvalidArgument where no tokenizer has the sentinels for such pairs, or nothing would be left of a text.
Status CheckSpanRules(const SpanRules& rules);

/// Where the words of `text` end, in bytes: spaces separate them.
void WordEnds(std::string_view text, std::vector<std::uint32_t>& ends);

/// What can be cut: of `ends`, ascending, those between two characters, so that no unit is without a
/// character other than a space, and the end of `text`. Empty where there is nothing but spaces.
std::vector<std::uint32_t> UnitEnds(std::string_view text, std::span<const std::uint32_t> ends);

struct SpanPair {
  std::string source;
  std::string target;
};

/// Immutable; safe from any thread.
class SpanCorruption {
 public:
  /// `rules` have passed CheckSpanRules.
  explicit SpanCorruption(const SpanRules& rules);

  /// The pairs that `text` becomes: none where it has fewer than two units, several where it is longer than
  /// one pair may be, all about as long. `units` as UnitEnds gives them. Equal `key`s give equal pairs.
  std::vector<SpanPair> Pairs(std::string_view text, std::span<const std::uint32_t> units,
                              std::uint64_t key) const;

 private:
  const SpanRules rules_;
  const std::size_t longest_;  // units of one pair
};

/// The text that a pair was made of; absent where these are no such pair.
std::optional<std::string> JoinSpans(std::string_view source, std::string_view target);

}  // namespace pipeline
