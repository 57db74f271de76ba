#include "text/span_corruption.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

/// This is SplitMix64: the n-th number follows from the key and n alone.
class Chance {
 public:
  explicit Chance(std::uint64_t key) : state_(key) {}
  /// Returns a number from 0 to `limit` - 1. Its bias is below 2^-32 of a unit for any line.
  std::size_t Below(std::size_t limit) {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return static_cast<std::size_t>(((mixed >> 32) * limit) >> 32);
  }

 private:
  std::uint64_t state_;
};

struct Spans {
  std::size_t noise = 0;  // units
  std::size_t count = 0;
};

/// Returns the numbers that random_spans_noise_mask of T5 computes from the length.
Spans SpansOf(const SpanRules& rules, std::size_t units) {
  const auto rounded = [](double number) { return static_cast<std::size_t>(std::nearbyint(number)); };
  Spans spans;
  spans.noise = std::clamp<std::size_t>(rounded(static_cast<double>(units) * rules.noise), 1, units - 1);
  const std::size_t most = std::min(spans.noise, units - spans.noise);
  spans.count = std::clamp<std::size_t>(rounded(static_cast<double>(spans.noise) / rules.mean_span), 1, most);
  return spans;
}

std::size_t SourceLength(const SpanRules& rules, std::size_t units) {
  const Spans spans = SpansOf(rules, units);
  return units - spans.noise + spans.count + 1;
}

/// Returns the units of the longest text that fits into one pair.
std::size_t LongestPair(const SpanRules& rules) {
  std::size_t units = 2;
  while (SourceLength(rules, units + 1) <= rules.max_source) ++units;
  return units;
}

/// Divides `units` into so many parts of at least one unit; every division is equally likely.
std::vector<std::size_t> Segment(std::size_t units, std::size_t parts, Chance& chance) {
  std::vector<std::size_t> lengths;
  lengths.reserve(parts);
  std::size_t wanted = parts - 1, begin = 0;
  for (std::size_t at = 1; at < units && wanted > 0; ++at) {
    if (chance.Below(units - at) >= wanted) continue;
    lengths.push_back(at - begin);
    begin = at;
    --wanted;
  }
  lengths.push_back(units - begin);
  return lengths;
}

/// Makes the pair of the units [first, last), whose text begins at `begin`.
SpanPair PairOf(std::string_view text, std::size_t begin, std::span<const std::uint32_t> units,
                const SpanRules& rules, Chance& chance) {
  const Spans spans = SpansOf(rules, units.size());
  // Units before, between and after the spans; there may be none before and after them.
  std::vector<std::size_t> kept = Segment(units.size() - spans.noise + 2, spans.count + 1, chance);
  --kept.front();
  const std::vector<std::size_t> taken = Segment(spans.noise, spans.count, chance);
  SpanPair pair;
  const std::size_t bytes = units.back() - begin + spans.count * (kSentinelMark.size() + 4);
  pair.source.reserve(bytes), pair.target.reserve(bytes / 2);
  std::size_t unit = 0, written = begin;
  for (std::size_t number = 0; number < spans.count; ++number) {
    unit += kept[number];
    std::size_t first = unit == 0 ? begin : units[unit - 1];
    unit += taken[number];
    std::size_t last = units[unit - 1];
    // The spaces around a span stay in the source.
    first = text.find_first_not_of(' ', first);
    last = text.find_last_not_of(' ', last - 1) + 1;
    const std::string sentinel = SentinelText(number);
    pair.source.append(text.substr(written, first - written)).append(sentinel);
    if (number > 0) pair.target.push_back(' ');
    pair.target.append(sentinel).append(" ").append(text.substr(first, last - first));
    written = last;
  }
  pair.source.append(text.substr(written, units.back() - written));
  return pair;
}

}  // namespace

std::string SentinelText(std::size_t number) { return StrCat(kSentinelMark, number, ">"); }

Status CheckSpanRules(const SpanRules& rules) {
  const auto wrong = [](std::string what) { return Status(Code::kInvalidArgument, std::move(what)); };
  if (!(rules.noise >= 0.01 && rules.noise <= 0.5)) return wrong("noise: must be from 0.01 to 0.5");
  if (!(rules.mean_span >= 1 && rules.mean_span <= 100)) return wrong("mean_span: must be from 1 to 100");
  if (rules.max_source < 8 || rules.max_source > 1 << 16)
    return wrong(StrCat("max_source: ", rules.max_source, ": must be from 8 to ", 1 << 16));
  const std::size_t sentinels = SpansOf(rules, LongestPair(rules)).count;
  if (sentinels <= kMostSentinels) return {};
  return wrong(StrCat("max_source: ", rules.max_source, ": such a source has ", sentinels,
                      " sentinels, and a tokenizer of T5 has ", kMostSentinels,
                      "; lower it, or give a longer `mean_span`"));
}

void WordEnds(std::string_view text, std::vector<std::uint32_t>& ends) {
  for (std::size_t at = 1; at <= text.size(); ++at)
    if (text[at - 1] != ' ' && (at == text.size() || text[at] == ' '))
      ends.push_back(static_cast<std::uint32_t>(at));
}

std::vector<std::uint32_t> UnitEnds(std::string_view text, std::span<const std::uint32_t> ends) {
  std::vector<std::uint32_t> units;
  units.reserve(ends.size() + 1);
  std::size_t begin = 0;
  for (const std::uint32_t end : ends) {
    if (end > text.size() || (end < text.size() && IsUtf8Tail(text[end]))) continue;
    if (text.find_first_not_of(' ', begin) >= end) continue;
    units.push_back(end);
    begin = end;
  }
  const auto whole = static_cast<std::uint32_t>(text.size());
  if (begin == whole) return units;
  if (text.find_first_not_of(' ', begin) != std::string_view::npos)
    units.push_back(whole);
  else if (!units.empty())
    units.back() = whole;
  return units;
}

SpanCorruption::SpanCorruption(const SpanRules& rules) : rules_(rules), longest_(LongestPair(rules)) {}

std::vector<SpanPair> SpanCorruption::Pairs(std::string_view text, std::span<const std::uint32_t> units,
                                            std::uint64_t key) const {
  std::vector<SpanPair> pairs;
  if (units.size() < 2) return pairs;
  const std::size_t count = (units.size() + longest_ - 1) / longest_;
  Chance chance(key);
  std::size_t begin = 0;
  for (std::size_t pair = 0; pair < count; ++pair) {
    const std::size_t first = pair * units.size() / count, last = (pair + 1) * units.size() / count;
    pairs.push_back(PairOf(text, begin, units.subspan(first, last - first), rules_, chance));
    begin = units[last - 1];
  }
  return pairs;
}

std::optional<std::string> JoinSpans(std::string_view source, std::string_view target) {
  std::string text;
  for (std::size_t number = 0;; ++number) {
    const std::size_t mark = source.find(kSentinelMark);
    text.append(source.substr(0, mark));
    if (mark == std::string_view::npos) {
      if (number == 0 || !target.empty()) return std::nullopt;
      return text;
    }
    const std::string sentinel = SentinelText(number);
    source.remove_prefix(mark);
    const std::string before = number == 0 ? sentinel + " " : StrCat(" ", sentinel, " ");
    if (number >= kMostSentinels || !source.starts_with(sentinel) || !target.starts_with(before))
      return std::nullopt;
    source.remove_prefix(sentinel.size());
    target.remove_prefix(before.size());
    const std::size_t end = std::min(target.find(StrCat(" ", kSentinelMark)), target.size());
    text.append(target.substr(0, end));
    target.remove_prefix(end);
  }
}

}  // namespace pipeline
