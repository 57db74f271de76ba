// A stage that takes records and gives records, batch by batch.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "dag/records/batch.h"
#include "dag/records/counts.h"

namespace pipeline {

/// Scratch memory of a Transform (an ICU buffer, a lattice). One batch at a time. Keeps nothing of a batch
/// for the next one: reuse changes the speed alone, never a byte.
class Worker {
 public:
  virtual ~Worker() = default;
  /// Changes `batch` in place: may drop, split or replace records. Adds only reasons to `counts`, since the
  /// segment counts records and bytes. Adds dropped or altered records to batch.quarantine, with `stage` as
  /// their stage. On failure, batch.failed_index names the record
  /// if one is at fault; the message begins with what is wrong, since the executor names the place.
  virtual Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) = 0;
};

/// A pure function on batches, immutable and safe from any thread: the same batch gives the same
/// bytes in any order.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual Result<std::unique_ptr<Worker>> NewWorker() const = 0;
  /// Bytes of memory beyond the model_memory of its type.
  virtual std::uint64_t memory() const { return 0; }
  /// Checks the totals of a finished artifact. Called once; an error prevents its publication.
  virtual Status CheckCounts(const ArtifactTotals&) const { return {}; }
};

}  // namespace pipeline
