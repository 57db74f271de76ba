// What the coordinator of a run shares with the units that it started.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "base/mutex.h"
#include "dag/environment.h"
#include "dag/failures.h"
#include "dag/plan.h"
#include "dag/prepare_tracks.h"
#include "dag/segment.h"
#include "spec/graph.h"

namespace pipeline {

/// Owned by the coordinator; outlives the threads of its units. The lock is held for nothing slow.
struct RunState {
  RunState(const Graph& its_graph, const Plan& its_plan, const Facts& its_facts,
           const Environment& its_environment, const RunOptions& its_options)
      : graph(its_graph),
        plan(its_plan),
        facts(its_facts),
        environment(its_environment),
        options(its_options),
        failures(*its_environment.log, its_options.keep_going, stop) {}

  bool Does(Share::Of share) const { return options.share.of == share; }
  /// Something can be started that could not before.
  void Wake() REQUIRES(mutex) {
    woken = true;
    changed.NotifyAll();
  }

  const Graph& graph;
  const Plan& plan;
  const Facts& facts;
  const Environment& environment;
  const RunOptions& options;
  PreparedTracks prepared;       // what is in its tracks is guarded by `mutex`
  std::unique_ptr<Arena> arena;  // as `prepared`, made before any unit runs

  std::stop_source stop;  // set by the caller's token and by the last failure allowed

  Mutex mutex;
  ConditionVariable changed;
  std::uint64_t remakes GUARDED_BY(mutex) = 0;  // pieces that were found damaged
  bool woken GUARDED_BY(mutex) = false;
  Failures failures GUARDED_BY(mutex);
};

}  // namespace pipeline
