// What the coordinator of a run shares with the units that it started.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>

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
  /// Something can be started that could not before. Under the lock.
  void Wake() {
    woken = true;
    changed.notify_all();
  }

  const Graph& graph;
  const Plan& plan;
  const Facts& facts;
  const Environment& environment;
  const RunOptions& options;
  PreparedTracks prepared;       // what is in its tracks is guarded by `mutex`
  std::unique_ptr<Arena> arena;  // as `prepared`, made before any unit runs

  std::mutex mutex;
  std::condition_variable changed;
  std::stop_source stop;      // set by the caller's token and by the last failure allowed
  std::uint64_t remakes = 0;  // pieces that were found damaged; guarded by `mutex`, like all below
  bool woken = false;
  Failures failures;
};

}  // namespace pipeline
