// Pass 1 of a global shuffle: a partition's payloads become one file in shuffled order.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "records/sink.h"

namespace pipeline {

inline constexpr std::string_view kSpillSuffix = ".spill";

struct SpillRules {
  std::uint64_t seed = 0;
  bool compress = false;
  std::uint64_t most_bytes = 0;  // of payloads in one file; 0: any number
};

/// Of the records of a partition whose spill files have these digests, in the order in which they were made.
Digest SpillsDigest(const std::vector<Digest>& parts);

/// Takes the payload, heads and split of its partition's batches and commits IIII-PPPPP.spill
/// (formats/spill_file.md). Holds the whole partition: its payloads and about 50 bytes a record.
/// Sorting and writing happen in Commit, on the closing thread. With `most_bytes` it holds no more than that:
/// what is full is written at once, as IIII-PPPPP.N.spill, N from 1.
std::unique_ptr<Sink> NewSpillSink(Store& artifact, PartitionId id, const SpillRules& rules);

}  // namespace pipeline
