// The time of a stage that publishes shards: from batches in memory to shards in memory.
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
  double bare_seconds = 0;  // of the processor, by a bare loop over as many rows of their mean size
};

/// The second pass, every shard of it; without the seconds.
Result<WrittenShards> WriteShards(const Publication& plan, Store& out, std::uint64_t memory_bytes);

/// The stage's encoder and both passes, on one thread; of five rounds that whose quotient with the bare loop
/// is the median. `partitions`: the batches of each.
Result<WrittenShards> TimeSink(const SinkStage& stage, const std::vector<std::vector<Batch>>& partitions);

}  // namespace pipeline
