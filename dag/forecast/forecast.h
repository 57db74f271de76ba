// Estimates the bytes that a plan will read, write and need, before it runs. Exact if an earlier run
// counted them.
#pragma once

#include <cstdint>
#include <functional>
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

/// Returns the most bytes of intermediates and local publications that `plan` may add at one time while
/// intermediates are removed as it goes, whatever segments run at the same time. In a plan with very many of
/// them, the sum of all. `expected`: the bytes of each segment.
std::uint64_t PeakOfOutputs(const Plan& plan, const IdVector<SegmentId, SegmentForecast>& expected);

/// The bytes that a run adds on one file system at its peak.
struct DiskNeed {
  std::string path;         // on it: the work directory, or the location of an artifact
  std::uint64_t bytes = 0;  // the forecast
  /// Less than that does not do: all that is downloaded, and half of what is made of the text. A stage that
  /// drops most of its records may need less than the forecast says.
  std::uint64_t least = 0;
};

struct DiskPlaces {
  std::string work;               // the work directory; of a home in a bucket, its scratch
  bool has_intermediates = true;  // false: they go to the home in a bucket
  bool is_known = true;           // false: the amount of text is guessed, for a trial or without sizes
  /// True if two paths are on one file system.
  std::function<bool(const std::string&, const std::string&)> same;
  /// The bytes of the files below a directory.
  std::function<std::uint64_t(const std::string&)> held;
};

/// Existing data are no need: outputs that count, bytes at the locations, and downloads.
std::vector<DiskNeed> DiskNeedsOf(const Plan& plan, const Forecast& forecast, const DiskPlaces& places);

}  // namespace pipeline
