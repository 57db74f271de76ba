// How much of faulty records a message shows.
#pragma once

#include <cstddef>

namespace pipeline {

/// Bytes of one record that the message shows.
inline constexpr std::size_t kShownFaultBytes = 80;
/// Bytes of the records from which FaultBound::advice is made.
inline constexpr std::size_t kFaultSampleBytes = 64 << 10;

}  // namespace pipeline
