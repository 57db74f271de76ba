// The failures of a run, for the log and for the caller.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dag/books/run_log.h"
#include "dag/run/executor.h"
#include "dag/run/segment_state.h"

namespace pipeline {

/// One thread at a time. Stops the run after the last allowed failure.
class Failures {
 public:
  Failures(RunLog& log, int allowed, std::stop_source& stop) : log_(log), allowed_(allowed), stop_(stop) {}

  /// Logs a line about a unit with a reason and nothing else. A failed write ends the run.
  void Log(UnitState state, const std::string& unit, std::uint32_t segment, std::string reason);
  void Log(const UnitLine& line);
  /// Records a failure. False: the run is to stop.
  bool Record(const std::string& unit, Status why);
  /// Logs and records the failure of a whole unit of `state`. Ignores kCancelled: its cause is recorded
  /// elsewhere.
  void Fail(SegmentState& state, const std::string& unit, Status why);

  /// Invalidates the partitions of input `number` of `state` that this run logged since the reading began,
  /// and everything made from them.
  void InvalidateUnsettled(SegmentState& state, std::uint32_t number, std::string_view why);

  std::vector<UnitFailure> Take() { return std::move(all_); }

 private:
  void Invalidate(SegmentState& state, PartitionId id, std::string_view why);

  RunLog& log_;
  const int allowed_;
  std::stop_source& stop_;
  std::vector<UnitFailure> all_;
};

}  // namespace pipeline
