// Which bytes of an input a decoder could make nothing of.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace pipeline {

/// With kDataLoss: the bytes from `begin` to `end` of the input as it is stored hold the damage, and those
/// before them were found good. Where nobody knows, all of them.
struct DamagedBytes final : StatusDetail {
  DamagedBytes() = default;
  DamagedBytes(std::uint64_t from, std::uint64_t to) : begin(from), end(to) {}
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
};

}  // namespace pipeline
