// The order in which records are drawn: by hash, then by position in the corpus. Rules:
// stages/lines/sample.md.
#pragma once

#include <compare>
#include <cstdint>

#include "dag/records/batch.h"

namespace pipeline {

/// A record's position in the draw.
struct SamplePlace {
  std::uint64_t hash = 0;
  PartitionId partition;
  std::uint64_t index = 0;
  std::uint32_t sub = 0;
  auto operator<=>(const SamplePlace&) const = default;
};

SamplePlace LocationOf(std::uint64_t seed, PartitionId partition, const RecordHead& head);

}  // namespace pipeline
