#include "stages/shards/shard_count.h"

namespace pipeline {

std::uint32_t AutoShardCount(std::uint64_t framed_bytes, std::uint64_t records) {
  constexpr std::uint64_t kUsual = 1024;
  const std::uint64_t fewest = framed_bytes >> 30;  // at most 1 GiB each
  const std::uint64_t most = framed_bytes >> 26;    // at least 64 MiB each
  if (fewest <= kUsual && kUsual <= most && records >= kUsual) return kUsual;
  if (fewest > kUsual) return static_cast<std::uint32_t>((fewest + kUsual - 1) / kUsual * kUsual);
  for (std::uint32_t shards = 512; shards >= 2; shards /= 2)
    if (fewest <= shards && shards <= most) return shards;
  return 1;
}

}  // namespace pipeline
