// Rows as a packer gives them, and rules for packers, for their tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stages/export/packed/row_packer.h"

namespace pipeline {

using PackerIds = std::vector<std::uint32_t>;

struct PackerRow {
  PackerIds ids;
  PackedRowFacts facts;
  PackerIds weights = {};  // empty: none
  bool operator==(const PackerRow&) const = default;
};

/// The ids that end a document, end a line and fill a row.
inline constexpr std::uint32_t kEos = 2;
inline constexpr std::uint32_t kBegin = 1;  // begins a document of OfWords
inline constexpr std::uint32_t kNewline = 4;
inline constexpr std::uint32_t kFill = 0;

/// Rules by which an id stands between the lines of a document.
inline RowRules WithNewline(std::uint32_t seq_len) {
  return {seq_len, kEos, kFill, kNewline, std::nullopt, kNewline};
}
/// Rules by which the id that ends a document also ends each line, and fills rows.
inline RowRules ByLine(std::uint32_t seq_len) { return {seq_len, kEos, kEos, kEos}; }
/// Rules by which nothing stands between lines.
inline RowRules Joined(std::uint32_t seq_len) { return {seq_len, kEos, kEos, std::nullopt}; }
/// Rules of a vocab.txt.
inline RowRules OfWords(std::uint32_t seq_len) { return {seq_len, kEos, kFill, std::nullopt, kBegin, kEos}; }

/// Appends each row to `rows`, the begins of its segments to `segments` unless null, and adds its scored
/// targets to `scored`. All outlive the function.
inline TakeRow TakeInto(std::vector<PackerRow>& rows, std::vector<PackerIds>* segments,
                        std::uint64_t& scored) {
  return [&rows, segments, &scored](std::span<const std::uint32_t> ids, const PackedRowFacts& facts,
                                    std::span<const std::uint32_t> begins,
                                    std::span<const std::uint32_t> weights) {
    if (segments != nullptr) segments->emplace_back(begins.begin(), begins.end());
    rows.push_back({PackerIds(ids.begin(), ids.end()), facts, PackerIds(weights.begin(), weights.end())});
    for (const std::uint32_t weight : weights) scored += weight;
    return Status();
  };
}

}  // namespace pipeline
