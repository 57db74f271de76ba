// What a stage that publishes shards takes for it: from batches in memory to shards in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "dag/records/sink.h"

namespace pipeline {

struct WrittenShards {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of the shards alone
  double seconds = 0;       // of the processor
  double bare_seconds = 0;  // of BareSeconds, in the same round
};

/// The second pass, every shard of it; without the seconds.
Result<WrittenShards> WriteShards(const Publication& plan, Store& out, std::uint64_t memory_bytes);

/// The processor's time of a bare loop over as many rows of one size, `bytes` in all: it copies each with its
/// length and CRC-32C into one buffer, then in a random order into another, and checks each. A writer that
/// shuffles does at least that.
double BareSeconds(std::uint64_t records, std::uint64_t bytes);

/// The stage's encoder and both passes, on one thread; of five rounds that whose quotient with the bare loop
/// is the median. `partitions`: the batches of each.
Result<WrittenShards> TimeSink(const SinkStage& stage, const std::vector<std::vector<Batch>>& partitions);

}  // namespace pipeline
