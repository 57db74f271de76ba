// A stage that looks at all records before it gives any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "records/batch.h"
#include "records/piece.h"
#include "records/sink.h"
#include "records/source.h"
#include "storage/store.h"

namespace pipeline {

/// What is read of a GatherStage once all its pieces stand.
struct GatherRequest {
  Store* artifact = nullptr;  // the directory of its pieces
  std::vector<Piece> pieces;  // by id
  std::function<bool(std::uint32_t partition)> wanted;
  std::size_t batch_bytes = 256 << 10;
  std::stop_token stop;
};

/// A stage that looks at all records before it gives any: takes them in as a Sink, and gives them on as one
/// input, number 0, with partitions of its own.
class GatherStage {
 public:
  virtual ~GatherStage() = default;
  virtual Result<std::unique_ptr<Sink>> OpenPartition(Store& artifact, PartitionId id) const = 0;
  /// As SinkStage::partition_memory.
  virtual std::uint64_t partition_memory(std::uint64_t text_bytes) const = 0;
  /// What it gives depends on the pieces and its configuration alone: every column of the schema that comes
  /// in. DamagedPiece (records/piece.h) names a piece that is missing or differs from what was written; where
  /// those of several stages are read, DamagedPieceOf does.
  virtual Result<std::unique_ptr<Source>> Open(GatherRequest request) const = 0;
};

}  // namespace pipeline
