// Rows as a packer gives them, for the tests of packers.
#pragma once

#include <cstdint>
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
