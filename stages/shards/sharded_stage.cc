#include "stages/shards/sharded_stage.h"

#include <algorithm>

#include "base/str.h"
#include "stages/shards/corpus_order.h"
#include "stages/shards/corpus_ranges.h"
#include "stages/shards/made_rows.h"
#include "stages/shards/shuffle.h"
#include "stages/shards/spill_sink.h"

namespace pipeline {

namespace {

// Only a buffer for each split is held.
constexpr std::uint64_t kSplitMemory = 256 << 10;

/// Payload bytes that close a spill file where the rules have no number: one and a half times a usual
/// partition. Payloads that are much longer than their text (NUL becomes three bytes) come to it.
constexpr std::uint64_t kSpillBytes = 96 << 20;

}  // namespace

Result<std::unique_ptr<Sink>> ShardedStage::OpenPartition(Store& artifact, PartitionId id) const {
  if (rules_.shuffle_seed)
    return NewSpillSink(artifact, id,
                        {*rules_.shuffle_seed, rules_.compress_spills,
                         rules_.spill_bytes > 0 ? rules_.spill_bytes : kSpillBytes});
  return NewCorpusOrderSink(artifact, id, rules_.cuts_corpus() ? RulesOfRows(rules_) : rules_);
}

std::uint64_t ShardedStage::partition_memory(std::uint64_t text_bytes) const {
  // A spill is held in memory as a whole: the text, and half as much again for the bytes that an encoder adds
  // and for the index of its records, in lines of 100 bytes.
  text_bytes = rules_.spill_bytes > 0 ? rules_.spill_bytes : std::min(text_bytes, kSpillBytes);
  return kMadeRowsBytes +
         (rules_.shuffle_seed ? text_bytes + (text_bytes >> 1) : kSplitMemory * rules_.splits.size());
}

Status ShardedStage::CheckCounts(const ArtifactTotals& totals) const {
  const auto is_empty = [&totals](const std::string& split) {
    const auto found = totals.splits.find(split);
    return found == totals.splits.end() || found->second.records == 0;
  };
  if (std::all_of(rules_.splits.begin(), rules_.splits.end(), is_empty))
    return Status(Code::kFailedPrecondition,
                  "no record comes to it: the input has none, or all were dropped; the counts show it");
  std::string failures;
  for (const std::string& split : rules_.splits) {
    if (!is_empty(split)) continue;
    failures += StrCat(failures.empty() ? "" : "; ", "split '", split,
                       "' has no records, and trainers stop at an empty one; give it a larger share (a ",
                       "trial: a larger --subset), or leave it out");
  }
  return failures.empty() ? Status() : Status(Code::kFailedPrecondition, failures);
}

Result<std::unique_ptr<Publication>> ShardedStage::Plan(Store& artifact,
                                                        const std::vector<PartitionOutput>& outputs) const {
  if (rules_.cuts_corpus()) return PlanCorpusRanges(rules_, artifact, outputs);
  if (!rules_.shuffle_seed) return PlanCorpusOrder(rules_, artifact, outputs);
  return ShufflePublication::Plan(rules_, artifact, outputs);
}

}  // namespace pipeline
