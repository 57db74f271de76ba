// First half of a sample: of one partition, the records that may be drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "records/sink.h"

namespace pipeline {

struct SampleRules {
  std::optional<std::uint8_t> split;  // only records of it
  std::uint64_t bytes = 0;            // of text in the whole sample
  std::uint64_t seed = 0;
  std::uint64_t partition_bytes = 0;  // of text in a partition of the sample
};

/// Keeps the records that are drawn first, up to the one at which their text exceeds `rules.bytes`, and
/// commits them in corpus order through a Sink of `format` (the intermediate format), which outlives
/// it. Encoding happens in Commit, on the closing thread.
std::unique_ptr<Sink> NewSampleSink(const SampleRules& rules, PartitionId id, const SinkStage& format,
                                    std::unique_ptr<Sink> piece);

/// Bytes of memory that it holds at most, of a partition of so much text.
std::uint64_t SampleSinkMemory(const SampleRules& rules, std::uint64_t text_bytes);

}  // namespace pipeline
