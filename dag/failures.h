// What went wrong in a run, in the log and for whoever started it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "dag/executor.h"
#include "dag/run_log.h"
#include "dag/track.h"

namespace pipeline {

/// One thread at a time. Stops the run after the last failure that is allowed.
class Failures {
 public:
  Failures(RunLog& log, int allowed, std::stop_source& stop) : log_(log), allowed_(allowed), stop_(stop) {}

  /// A line about a unit without more to it; that it cannot be written ends the run.
  void Log(UnitState state, const std::string& unit, std::uint32_t segment, std::string reason);
  void Log(const UnitLine& line);
  /// False when the run is to stop.
  bool Record(const std::string& unit, Status why);
  /// A failure of a unit of `track` as a whole. Cancelled units have said why elsewhere.
  void Fail(Track& track, const std::string& unit, Status why);

  /// Takes back what this run logged of input `number` of `track` since its reading began, and what was made
  /// of that.
  void VoidUnsettled(Track& track, std::uint32_t number, std::string_view why);

  std::vector<UnitFailure> Take() { return std::move(all_); }

 private:
  void Void(Track& track, PartitionId id, std::string_view why);

  RunLog& log_;
  const int allowed_;
  std::stop_source& stop_;
  std::vector<UnitFailure> all_;
};

}  // namespace pipeline
