#include "stages/shards/shuffle_hash.h"

#include <string_view>

#include "base/digest.h"

namespace pipeline {

namespace {

template <class Unsigned>
char* Put(char* at, Unsigned number) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) *at++ = static_cast<char>(number >> (8 * i));
  return at;
}

}  // namespace

std::uint64_t ShuffleHash(std::uint64_t seed, PartitionId partition, std::uint64_t index, std::uint32_t sub) {
  char packed[28];
  char* at = Put(packed, seed);
  at = Put(at, partition.input);
  at = Put(at, partition.partition);
  at = Put(at, index);
  Put(at, sub);
  return Hash64(std::string_view(packed, sizeof(packed)));
}

}  // namespace pipeline
