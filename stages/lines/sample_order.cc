#include "stages/lines/sample_order.h"

#include "stages/shards/shuffle_hash.h"

namespace pipeline {

namespace {

/// A draw with some seed says nothing about a shuffle with the same one.
constexpr std::uint64_t kSampleSeed = 0x73616d706c65;  // "sample"

}  // namespace

SamplePlace LocationOf(std::uint64_t seed, PartitionId partition, const RecordHead& head) {
  return {ShuffleHash(seed ^ kSampleSeed, partition, head.index, head.sub), partition, head.index, head.sub};
}

}  // namespace pipeline
