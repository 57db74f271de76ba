// The statistics of an exported data set: records, documents, text lengths and characters, ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "stages/verify/record_statistics.h"
#include "text/text_stats.h"

namespace pipeline {

/// One thread at a time.
class ExportStats final : public RecordStatistics {
 public:
  /// `classes` outlives it.
  explicit ExportStats(const CharacterClasses& classes) : texts_(classes) {}

  void AddText(std::string_view text) override { texts_.Add(text); }
  void AddIds(std::uint64_t ids) override { ids_.Add(ids); }
  void AddCounted(std::uint64_t characters, std::uint64_t bytes) override {
    counted_characters_ += characters, counted_bytes_ += bytes;
  }
  void AddDocuments(std::uint64_t documents) override { documents_ = documents_.value_or(0) + documents; }
  /// Call for each record in order: a document may continue in the next partition of its input.
  void AddDocumentOf(std::uint32_t input, std::uint64_t document) {
    const std::pair<std::uint32_t, std::uint64_t> at(input, document);
    AddDocuments(std::exchange(last_document_, at) == at ? 0 : 1);
  }
  bool knows_documents() const { return documents_.has_value(); }

  std::uint64_t records() const { return std::max(texts_.characters().count(), ids_.count()); }

  /// For people: a heading, then lengths and character classes.
  std::string ToText() const;
  /// As TextStats::ToJson. Adds "documents" if known. With ids, adds "ids": {"sum", "min", "mean", "max",
  /// "quantiles", "histogram"}; then "characters" and "classes" exist only if there are texts, too;
  /// otherwise "characters" and "bytes" are numbers, if an index counted them.
  Json ToJson() const;

 private:
  std::optional<std::uint64_t> documents_;  // absent: unknown
  std::optional<std::pair<std::uint32_t, std::uint64_t>> last_document_;
  TextStats texts_;
  Histogram ids_;
  std::uint64_t counted_characters_ = 0;
  std::uint64_t counted_bytes_ = 0;
};

}  // namespace pipeline
