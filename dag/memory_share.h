// Dividing `limits.memory` among what runs at the same time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace pipeline {

struct MemoryNeeds {
  std::uint64_t limit = 0;  // limits.memory
  int units = 1;            // first-pass units that run at the same time
  int threads = 1;
  std::uint64_t batch_bytes = 0;
  std::uint64_t partition_bytes = 0;  // of one open partition in the Sink
};

struct MemoryShare {
  std::size_t tokens = 0;    // batches of one unit
  std::size_t closings = 0;  // partitions of one unit that may wait to be committed
};

/// As many tokens and waiting partitions as fit. kInvalidArgument when not even one partition that is
/// written while another is committed fits: says what would.
Result<MemoryShare> ShareMemory(const MemoryNeeds& needs);

}  // namespace pipeline
