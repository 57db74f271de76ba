// A stage that ends a line: keeps each partition as a piece, and may make shards of the pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "records/batch.h"
#include "records/piece.h"
#include "records/publication.h"
#include "records/transform.h"
#include "storage/store.h"

namespace pipeline {

/// Receives one partition's batches in order, from one thread at a time. Destroyed uncommitted, the
/// partition never existed.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status Write(const Batch& batch) = 0;
  /// Makes the partition visible and durable. Called once, last, from the unit's closing thread,
  /// while the next partition's Sink is already being written. kCancelled where that takes long and `stop`
  /// is set meanwhile: the partition never existed then.
  virtual Result<PartitionOutput> Commit(const PartitionEnd& end, std::stop_token stop = {}) = 0;
};

class SinkStage {
 public:
  virtual ~SinkStage() = default;
  /// The last Transform of the chain, which fills batch.payload in parallel; null where the Sink
  /// takes the columns themselves.
  virtual const Transform* encoder() const = 0;
  /// Opens the place of one partition in `artifact`, the stage's directory for pieces.
  virtual Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const = 0;
  /// Bytes of memory that one open partition of so much text may take, beside the batches.
  virtual std::uint64_t partition_memory(std::uint64_t text_bytes) const = 0;
  /// As Transform::Judge: called with the totals before the second pass; an error keeps it from being begun.
  virtual Status Judge(const ArtifactTotals&) const { return {}; }
  /// The second pass over `pieces` (by id); null where the pieces are the artifact.
  virtual Result<std::unique_ptr<Publication>> Plan(Store& artifact,
                                                    const std::vector<Piece>& pieces) const = 0;
};

}  // namespace pipeline
