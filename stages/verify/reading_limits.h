// The most that a check or a reader of an export takes into memory at once; a larger object is damaged.
#pragma once

#include <cstdint>

namespace pipeline {

/// Bytes of a description beside the shards.
inline constexpr std::uint64_t kMaxDescriptionBytes = std::uint64_t{1} << 30;

/// Bytes of one record of a TFRecord file.
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 30;

}  // namespace pipeline
