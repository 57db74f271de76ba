// Which shards stand at a place, kept there too, for a machine that has no run log: dag/place_log.md
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "dag/run_log.h"
#include "storage/store.h"

namespace pipeline {

/// Below it lies what is the program's own: no part of the artifact, in no manifest.
inline constexpr std::string_view kOwnPrefix = ".pipe/";
inline constexpr std::string_view kPlaceLogPrefix = ".pipe/log/";

/// Writes the log of one place in one run. Safe from any thread.
class PlaceLog {
 public:
  /// `out` is rooted at the place and outlives it. `lineage` as SegmentLine has it.
  PlaceLog(Store& out, std::string lineage, const Clock& clock = SystemClock());

  /// Takes a line; durable once Flush has returned OK, or by itself when lines have waited for a while.
  /// Once `stop` stops, a few seconds are spent on it: what is lost is compared and not written again.
  Status Add(const UnitLine& line, std::stop_token stop);
  Status Flush(std::stop_token stop);

 private:
  Status Write(std::stop_token stop) REQUIRES(mutex_);

  Store& out_;
  const std::string lineage_;
  const Clock& clock_;
  const std::string run_;
  Mutex mutex_;
  std::uint32_t next_ GUARDED_BY(mutex_) = 0;
  std::string lines_ GUARDED_BY(mutex_);  // that are not written yet
  std::chrono::nanoseconds oldest_ GUARDED_BY(mutex_){0};
};

/// Every line of the log at `out` that can be read; `listed` is what lies there.
Result<std::vector<UnitLine>> ReadPlaceLog(Store& out, const std::vector<ObjectInfo>& listed,
                                           std::stop_token stop = {});

}  // namespace pipeline
