// The first half of a sample: selects candidate records of one partition.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "dag/records/sink.h"

namespace pipeline {

struct SampleRules {
  std::optional<std::uint8_t> split;  // draws only records of this split; absent: all
  std::uint64_t bytes = 0;            // of text in the whole sample
  std::uint64_t seed = 0;
  std::uint64_t partition_bytes = 0;  // of text in a partition of the sample
};

/// Keeps the records that come first in the draw, until their text exceeds `rules.bytes`, and commits them
/// in corpus order through a Sink of `format` (the intermediate format); `format` outlives it. Commit
/// encodes on the committer thread.
std::unique_ptr<Sink> NewSampleSink(const SampleRules& rules, PartitionId id, const SinkStage& format,
                                    std::unique_ptr<Sink> output);

/// Upper bound of its memory in bytes, for a partition with this much text.
std::uint64_t SampleSinkMemory(const SampleRules& rules, std::uint64_t text_bytes);

}  // namespace pipeline
