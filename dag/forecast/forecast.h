// Estimates the bytes that a plan will read, write and need, before it runs. Exact if an earlier run
// counted them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"

namespace pipeline {

struct SegmentForecast {
  std::uint64_t read_bytes = 0;          // from sources, as stored, or from partition files
  std::uint64_t text_bytes = 0;          // text that will pass through
  std::uint64_t intermediate_bytes = 0;  // will be added to the work directory
  std::uint64_t published_bytes = 0;     // will be added at its location
  std::uint64_t fetched_bytes = 0;       // downloads, which will be kept in the work directory
  std::uint64_t partitions_left = 0;     // 0: their number is not known yet
};

struct Forecast {
  IdVector<SegmentId, SegmentForecast> segments;
  /// The most that the run adds on this machine at one time: intermediates, local publications, downloads,
  /// and shards on their way to buckets.
  std::uint64_t peak_disk_bytes = 0;
  bool removes_outputs = false;          // intermediates go as the run goes
  std::uint64_t spool_bytes = 0;         // shards on their way to buckets at the same time
  std::uint64_t input_memory_bytes = 0;  // kept of input files and partitions, part of limits.memory
};

/// As many groups of shards are written at once as `options` has threads.
Forecast ForecastOf(const Graph& graph, const Plan& plan, const Snapshot& snapshot,
                    const RunOptions& options);

}  // namespace pipeline
