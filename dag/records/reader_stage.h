// A stage that reads a partition in its own way, and therefore begins a segment: `exec`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "dag/records/batch.h"
#include "dag/records/source.h"

namespace pipeline {

/// A partition to read.
struct ReaderRequest {
  std::unique_ptr<Source> records;  // of the partition, from the upstream segment; with counts of stage 0
  PartitionId partition;
  std::uint32_t stage = 1;  // position of this stage's counts in the batches that it fills
  std::size_t batch_bytes = 256 << 10;
  std::stop_token stop;
};

/// Its input is always materialised: one reader reads a partition from its file, as a whole, and a failure
/// fails that partition alone. Immutable; safe from any thread.
class ReaderStage {
 public:
  virtual ~ReaderStage() = default;
  /// Returns the partition as this stage makes it, with counts for stage 0 and for itself. Reads `records`
  /// from one thread at a time, not necessarily the caller's; passes their errors on unchanged. End() of
  /// the returned Source is absent.
  virtual Result<std::unique_ptr<Source>> Wrap(ReaderRequest request) const = 0;
};

}  // namespace pipeline
