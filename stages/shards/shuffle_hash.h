// The position of a record in a global shuffle.
#pragma once

#include <cstdint>

#include "dag/records/batch.h"

namespace pipeline {

/// Returns XXH3-64 of the record's origin and the seed: the same in every run, also if other records are
/// left out. The order of a shuffle is (hash, origin).
std::uint64_t ShuffleHash(std::uint64_t seed, PartitionId partition, std::uint64_t index, std::uint32_t sub);

}  // namespace pipeline
