// State of a run that the coordinator shares with its units.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/mutex.h"
#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"
#include "dag/run/failures.h"
#include "dag/run/prepare_segments.h"
#include "dag/run/segment.h"

namespace pipeline {

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
