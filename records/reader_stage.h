// A stage that reads one partition in a way of its own, and so begins a segment: `exec`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "records/batch.h"
#include "records/source.h"

namespace pipeline {

/// One partition that is to be read.
struct ReaderRequest {
  std::unique_ptr<Source> records;  // of the partition, as another segment left them; of stage 0
  PartitionId partition;
  std::uint32_t stage = 1;  // position of this stage's counts in the batches that it fills
  std::size_t batch_bytes = 256 << 10;
  std::stop_token stop;
};

/// Its input is always materialised: a partition is read from its file, whole and by one reader, and a
/// failure is the failure of that partition alone. Immutable; safe from any thread.
class ReaderStage {
 public:
  virtual ~ReaderStage() = default;
  /// Gives the partition as this stage makes it, with counts for stage 0 and its own. Reads `records` from
  /// one thread at a time, which need not be the caller's; an error of theirs comes through as it is. The
  /// Source's End() is absent.
  virtual Result<std::unique_ptr<Source>> Wrap(ReaderRequest request) const = 0;
};

}  // namespace pipeline
