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
  std::uint64_t partitions_left = 0;     // 0 where their number is not known yet
};

struct Forecast {
  std::vector<SegmentForecast> segments;  // parallel to the plan's
  /// At the end of the run, when all intermediates still lie beside what was published.
  std::uint64_t peak_disk_bytes = 0;
};

Forecast ForecastOf(const Graph& graph, const Plan& plan, const Facts& facts);

}  // namespace pipeline
