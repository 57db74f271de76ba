// A stage that ends a segment: stores each partition output, and may make shards from them.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "dag/records/batch.h"
#include "dag/records/partition_output.h"
#include "dag/records/publication.h"
#include "dag/records/transform.h"
#include "storage/store.h"

namespace pipeline {

/// Receives the batches of one partition in order, from one thread at a time. Leaves nothing if it is
/// destroyed without Commit.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status Write(const Batch& batch) = 0;
  /// Makes the partition visible and durable. Called once, last, from the unit's committer thread, while the
  /// Sink of the next partition is already being written, or between two partitions. kCancelled: a long
  /// commit was stopped, and leaves nothing.
  virtual Result<CommittedPartition> Commit(const PartitionEnd& end, std::stop_token stop = {}) = 0;
};

class SinkStage {
 public:
  virtual ~SinkStage() = default;
  /// Returns the last Transform of the chain, which fills batch.payload in parallel; null: the Sink takes
  /// the columns themselves.
  virtual const Transform* encoder() const { return nullptr; }
  /// Opens the output of one partition in `artifact`, the stage's directory for partition outputs.
  virtual Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const = 0;
  /// Bytes of memory that an open partition with this much text may need, without the batches.
  virtual std::uint64_t partition_memory(std::uint64_t text_bytes) const = 0;
  /// As Transform::CheckCounts, but called before the second pass; an error prevents the second pass.
  virtual Status CheckCounts(const ArtifactTotals&) const { return {}; }
  /// Returns the second pass over these outputs (by id); null: the partition outputs are the artifact.
  virtual Result<std::unique_ptr<Publication>> Plan(Store&, const std::vector<PartitionOutput>&) const {
    return nullptr;
  }
};

}  // namespace pipeline
