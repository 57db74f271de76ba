// Statistics of texts: lengths and kinds of characters. Bounded memory, one pass.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/character_class.h"

namespace pipeline {

/// Histogram of non-negative integers. Numbers below 64 have one bin each; above, each power of two has 32
/// bins, so that the width of a bin is at most 1/32 of its numbers. All counts are exact.
class Histogram {
 public:
  void Add(std::uint64_t number);

  std::uint64_t count() const { return count_; }
  std::uint64_t min() const { return min_; }  // 0 if empty
  std::uint64_t max() const { return max_; }
  std::uint64_t sum() const { return sum_; }
  double mean() const;
  /// Returns the largest number in the bin of the quantile, but at most max(). At least the share
  /// `fraction` of all numbers is at or below the quantile. Empty histogram: 0.
  std::uint64_t Quantile(double fraction) const;

  struct Range {
    std::uint64_t low = 0;  // both ends included
    std::uint64_t high = 0;
    std::uint64_t count = 0;
  };
  /// Ranges by powers of two, from the first to the last with numbers: 0, 1, 2-3, 4-7, ...
  std::vector<Range> Octaves() const;

  /// {"sum", "min", "mean", "max", "quantiles": {"0.5": ...}, "histogram": [[low, high, count], ...]}
  Json ToJson() const;

 private:
  std::vector<std::uint64_t> bins_;  // up to the last bin that has numbers
  std::uint64_t count_ = 0;
  std::uint64_t min_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t sum_ = 0;
};

/// One thread at a time.
class TextStats {
 public:
  /// `classes` must outlive this object.
  explicit TextStats(const CharacterClasses& classes) : classes_(classes), piece_(4096) {}

  /// `text` is clean UTF-8.
  void Add(std::string_view text);

  std::uint64_t bytes() const { return bytes_; }
  const Histogram& characters() const { return characters_; }  // of each text
  const ClassCounts& classes() const { return counts_; }

  /// {"records", "bytes", "characters": as Histogram::ToJson, "classes": {"hiragana": count, ...}}
  Json ToJson() const;

 private:
  const CharacterClasses& classes_;
  std::vector<char32_t> piece_;
  std::uint64_t bytes_ = 0;
  Histogram characters_;
  ClassCounts counts_;
};

}  // namespace pipeline
