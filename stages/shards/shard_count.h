// How many shards a split has where a person says `auto`.
#pragma once

#include <cstdint>

namespace pipeline {

/// The choice of TensorFlow Datasets (`_get_number_shards`): between 64 MiB and 1 GiB each. `framed_bytes`:
/// of the split's records, frames included.
std::uint32_t AutoShardCount(std::uint64_t framed_bytes, std::uint64_t records);

}  // namespace pipeline
