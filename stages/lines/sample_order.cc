#include "stages/lines/sample_order.h"

#include "stages/shards/shuffle_hash.h"

namespace pipeline {

namespace {

/// Makes a draw independent of a shuffle with the same seed.
constexpr std::uint64_t kSampleSeed = 0x73616d706c65;  // "sample"

}  // namespace

SamplePlace LocationOf(std::uint64_t seed, PartitionId partition, const RecordHead& head) {
  return {ShuffleHash(seed ^ kSampleSeed, partition, head.index, head.sub), partition, head.index, head.sub};
}

}  // namespace pipeline
