// T5's span corruption, as text: sentinels replace some spans of a line, and a second text lists the spans.
// Rules: stages/export/jsonl/jsonl.md.
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

/// Number of sentinels in a T5 tokenizer.
inline constexpr std::size_t kMostSentinels = 100;

/// Beginning of a sentinel. Text to corrupt must not contain it.
inline constexpr std::string_view kSentinelMark = "<extra_id_";
std::string SentinelText(std::size_t number);

/// Spans are counted in units: pieces of a tokenizer, morphemes or words.
struct SpanRules {
  double noise = 0.15;             // share of the units that sentinels replace
  double mean_span = 3;            // mean units per span
  std::uint32_t max_source = 512;  // most units in a source, with sentinels and one eos
};

/// kInvalidArgument: a value is out of range, or a pair would need more than kMostSentinels sentinels.
Status CheckSpanRules(const SpanRules& rules);

/// Appends the end of each word of `text`, in bytes, to `ends`. Spaces separate words.
void WordEnds(std::string_view text, std::vector<std::uint32_t>& ends);

/// Returns the ends of the units of `text`: those of `ends` (ascending) that fall between characters and
/// leave no unit of spaces alone, and the end of `text`. Empty: `text` has nothing but spaces.
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

  /// Returns the pairs for `text`: none for fewer than two units, several of about equal length if `text`
  /// is too long for one pair. `units` come from UnitEnds. Equal `key`s give equal pairs.
  std::vector<SpanPair> Pairs(std::string_view text, std::span<const std::uint32_t> units,
                              std::uint64_t key) const;

 private:
  const SpanRules rules_;
  const std::size_t longest_;  // most units of one pair
};

/// Returns the text of a pair; absent: these two are not a pair.
std::optional<std::string> JoinSpans(std::string_view source, std::string_view target);

}  // namespace pipeline
