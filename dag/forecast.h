// What a plan will read, write and need, before it runs. Estimates: exact where an earlier run counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

struct SegmentForecast {
  std::uint64_t read_bytes = 0;          // from sources, as stored, or from partition files
  std::uint64_t text_bytes = 0;          // that will pass through
  std::uint64_t intermediate_bytes = 0;  // that will be added to the work directory
  std::uint64_t published_bytes = 0;     // that will be added at its place
  std::uint64_t fetched_bytes = 0;       // of sources elsewhere, that will be kept in the work directory
  std::uint64_t partitions_left = 0;     // 0 where their number is not known yet
};

struct Forecast {
  std::vector<SegmentForecast> segments;  // parallel to the plan's
  /// On this machine, at the end of the run, when all intermediates still lie beside what was published here,
  /// what was fetched, and what is on its way to buckets.
  std::uint64_t peak_disk_bytes = 0;
  std::uint64_t spool_bytes = 0;  // of shards on their way to buckets, at once
};

/// `threads`: how many groups of shards are written at once.
Forecast ForecastOf(const Graph& graph, const Plan& plan, const Facts& facts, int threads);

}  // namespace pipeline
