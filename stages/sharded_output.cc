#include "stages/sharded_output.h"

#include <utility>

#include "stages/corpus_order.h"
#include "stages/shuffle.h"
#include "stages/spill_sink.h"

namespace pipeline {

namespace {

// A partition of the default 64 MiB with what an encoder adds to it, and of lines of 100 bytes.
constexpr std::uint64_t kSpillMemory = 128 << 20;
// Nothing is held but a buffer for each split.
constexpr std::uint64_t kSplitMemory = 256 << 10;

}  // namespace

ShardedOutput::ShardedOutput(ShardRules rules) : rules_(std::move(rules)) {}
ShardedOutput::~ShardedOutput() = default;

Result<std::unique_ptr<Sink>> ShardedOutput::OpenPartition(Store& artifact, PartitionId id) const {
  if (rules_.shuffle_seed) return NewSpillSink(artifact, id, {*rules_.shuffle_seed, rules_.compress_spills});
  return NewCorpusOrderSink(artifact, id, rules_.splits);
}

std::uint64_t ShardedOutput::partition_memory() const {
  return rules_.shuffle_seed ? kSpillMemory : kSplitMemory * rules_.splits.size();
}

Result<std::unique_ptr<Publication>> ShardedOutput::Plan(Store& artifact,
                                                         const std::vector<Piece>& pieces) const {
  if (!rules_.shuffle_seed) return PlanCorpusOrder(rules_, artifact, pieces);
  ASSIGN_OR_RETURN(std::unique_ptr<Publication> plan, ShufflePublication::Plan(rules_, artifact, pieces));
  return plan;
}

}  // namespace pipeline
