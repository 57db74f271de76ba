// The log of a location: its finished shards, for a machine that has no run log. Format:
// dag/books/location_log.md
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
#include "dag/books/run_log.h"
#include "storage/store.h"

namespace pipeline {

/// Prefix of the program's own objects: they are no part of the artifact and in no manifest.
inline constexpr std::string_view kOwnPrefix = ".pipe/";
inline constexpr std::string_view kLocationLogPrefix = ".pipe/log/";

/// Writes the log of one location in one run. Safe from any thread.
class LocationLog {
 public:
  /// `out` is rooted at the location and outlives the log. `lineage` is as in SegmentLine.
  LocationLog(Store& out, std::string lineage, const Clock& clock = SystemClock());

  /// Takes a line. It is durable once Flush has returned OK; lines that have waited for a while are written
  /// by Add and WriteOld. If `stop` is set, a write takes a few seconds at most: without its line a shard is
  /// compared, not written again.
  Status Add(const UnitLine& line, std::stop_token stop);
  Status Flush(std::stop_token stop);
  /// Writes the lines if the oldest one has waited for a while.
  Status WriteOld(std::stop_token stop);

 private:
  Status WriteIfOld(std::stop_token stop) REQUIRES(mutex_);
  Status Write(std::stop_token stop) REQUIRES(mutex_);

  Store& out_;
  const std::string lineage_;
  const Clock& clock_;
  const std::string run_;
  Mutex mutex_;
  std::uint32_t next_ GUARDED_BY(mutex_) = 0;
  std::string lines_ GUARDED_BY(mutex_);  // not written yet
  std::chrono::nanoseconds oldest_ GUARDED_BY(mutex_){0};
};

/// Returns every readable `done` line of the log at `out`; `listed` has the objects there.
Result<std::vector<UnitLine>> ReadLocationLog(Store& out, const std::vector<ObjectInfo>& listed,
                                              std::stop_token stop = {});

}  // namespace pipeline
