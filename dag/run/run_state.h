// State of a run that the coordinator shares with its units.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "dag/books/run_log.h"
#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"
#include "dag/run/executor.h"
#include "dag/run/prepare_segments.h"
#include "dag/run/segment.h"
#include "dag/run/segment_state.h"

namespace pipeline {

/// The failures of a run, for the log and for the caller. One thread at a time. Stops the run after the last
/// allowed failure.
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

/// The coordinator owns it; it outlives the threads of the units. The lock is never held during slow work.
struct RunState {
  RunState(const Graph& its_graph, const Plan& its_plan, const Snapshot& its_snapshot,
           const Environment& its_environment, const RunOptions& its_options)
      : graph(its_graph),
        plan(its_plan),
        snapshot(its_snapshot),
        environment(its_environment),
        options(its_options),
        failures(*its_environment.log, its_options.keep_going, stop) {}

  bool Does(ExecutionMode mode) const { return options.mode == mode; }
  /// Notes that something can be started that could not before.
  void Wake() REQUIRES(mutex) {
    woken = true;
    changed.NotifyAll();
  }

  const Graph& graph;
  const Plan& plan;
  const Snapshot& snapshot;
  const Environment& environment;
  const RunOptions& options;
  PreparedSegments prepared;     // `mutex` guards the contents of its segment states
  std::unique_ptr<Arena> arena;  // made before any unit runs, like `prepared`

  std::stop_source stop;  // set by the caller's token and by the last failure allowed

  Mutex mutex;
  ConditionVariable changed;
  std::uint64_t remakes GUARDED_BY(mutex) = 0;  // how often something damaged had to be made or read again
  bool woken GUARDED_BY(mutex) = false;
  Failures failures GUARDED_BY(mutex);
};

}  // namespace pipeline
