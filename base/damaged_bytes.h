// Position of bytes that a decoder cannot decode.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace pipeline {

/// Detail of kDataLoss: the damage lies in the bytes from `begin` to `end` of the stored input, and the
/// bytes before it are good. Default: all bytes, the position is unknown.
struct DamagedBytes final : StatusDetail {
  DamagedBytes() = default;
  DamagedBytes(std::uint64_t from, std::uint64_t to) : begin(from), end(to) {}
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
};

}  // namespace pipeline
