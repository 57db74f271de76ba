#include "dag/memory_share.h"

#include <algorithm>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kProgram = 48 << 20;  // code, dictionaries mapped by libraries, stacks, rings
constexpr std::uint64_t kGrowth =
    6;  // a batch of text with its columns, payload and scratch (measured, bench/)
constexpr std::size_t kMostClosings = 2;

}  // namespace

Result<MemoryShare> ShareMemory(const MemoryNeeds& needs) {
  const auto units = static_cast<std::uint64_t>(std::max(needs.units, 1));
  const std::uint64_t per_batch = needs.batch_bytes * kGrowth;
  const auto least_tokens = static_cast<std::uint64_t>(needs.threads) + 1;
  const std::uint64_t fixed = kProgram + units * least_tokens * per_batch;
  // One partition is written while the one before is committed; each that waits is one more.
  for (std::size_t closings = kMostClosings + 1; closings-- > 0;) {
    const std::uint64_t partitions = units * (2 + closings) * needs.partition_bytes;
    if (fixed + partitions > needs.limit) continue;
    const std::uint64_t left = needs.limit - fixed - partitions;
    const std::uint64_t more = left / 4 / units / std::max<std::uint64_t>(per_batch, 1);
    const std::uint64_t most = 4 * static_cast<std::uint64_t>(needs.threads);
    return MemoryShare{static_cast<std::size_t>(std::min(least_tokens + more, std::max(most, least_tokens))),
                       closings};
  }
  return Status(
      Code::kInvalidArgument,
      StrCat("limits.memory of ", HumanBytes(needs.limit), " cannot hold two partitions of ",
             HumanBytes(needs.partition_bytes), " for each of ", needs.units, " inputs and ", needs.threads,
             " threads; give it ", HumanBytes(fixed + units * 2 * needs.partition_bytes),
             ", or lower `partition` of the source, or -j"));
}

}  // namespace pipeline
