// First pass of a global shuffle: writes the payloads of a partition to one file in shuffled order.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "dag/records/batch.h"
#include "dag/records/sink.h"

namespace pipeline {

/// Returns XXH3-64 of the record's origin and the seed: the same in every run, also if other records are
/// left out. The order of a shuffle is (hash, origin).
std::uint64_t ShuffleHash(std::uint64_t seed, PartitionId partition, std::uint64_t index, std::uint32_t sub);

inline constexpr std::string_view kSpillSuffix = ".spill";

struct SpillRules {
  std::uint64_t seed = 0;
  bool compress = false;
  std::uint64_t most_bytes = 0;  // payload bytes that close a file; 0: no limit
};

/// Returns the digest of the records of a partition. `parts` are the digests of its spill files in the
/// order in which they were made.
Digest SpillsDigest(const std::vector<Digest>& parts);

/// Takes the payload, heads and split of the batches of a partition and commits IIII-PPPPP.spill
/// (formats/spill_file.md). Holds the whole partition: its payloads and about 50 bytes per record. Commit
/// sorts and writes, on the committer thread. With `most_bytes`: a file with that many payload bytes is
/// written at once, as IIII-PPPPP.N.spill, N from 1, and its memory is freed.
std::unique_ptr<Sink> NewSpillSink(Store& artifact, PartitionId id, const SpillRules& rules);

}  // namespace pipeline
