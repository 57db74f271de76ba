// Best fit decreasing over the documents of one split of one partition: `packing: best_fit` of
// stages/export/packed/packed.md.
#pragma once

#include <cstdint>
#include <memory>

#include "stages/export/packed/row_packer.h"
#include "stages/export/packed/target_weights.h"

namespace pipeline {

/// Holds all ids until Finish, which then gives the rows.
std::unique_ptr<RowPacker> NewBestFitPacker(const RowRules& rules, TakeRow row,
                                            std::unique_ptr<TargetWeights> weights = nullptr);

/// Upper bound of the memory of NewBestFitPacker for this much text.
constexpr std::uint64_t BestFitMemory(std::uint64_t text_bytes, bool weights) {
  return (weights ? 6 : 5) * text_bytes;
}

}  // namespace pipeline
