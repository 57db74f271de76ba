// Runs a Job on a machine that follows another one, the leader, which runs the whole pipeline: JobPosition.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dag/environment.h"
#include "dag/location/lease.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"

namespace pipeline {

/// The segment of the Job `stage`; null: the plan has none.
const PlannedSegment* FindJob(const Plan& plan, const std::string& stage);

/// Failure detail of FollowJob: the leader published an input anew, so the plan no longer holds.
struct InputsChanged final : StatusDetail {};

/// Runs the Job of `stage`, whose inputs `plan` found published. Takes no lease, writes no log line and
/// publishes nothing. kFailedPrecondition with InputsChanged: plan again. All arguments outlive the call.
Status FollowJob(const Graph& graph, const Plan& plan, const std::string& stage,
                 const Environment& environment, const RunOptions& options, std::stop_token stop);

/// Returns whether a run of the leader has begun at the location of the Job of `stage`. Before that, objects
/// of a follower there would be those of a stranger.
Result<bool> LeaderHasBegun(const Plan& plan, const std::string& stage, const Environment& environment);

/// Tells whether a run works at the locations of a stage's inputs, while a follower waits for them. One
/// thread. Looks at the leases without taking them, and writes nothing.
class LeaderWatch {
 public:
  /// `plan` and `environment` are used by the constructor alone; `clock` outlives it. Locations that cannot
  /// be opened are left out.
  LeaderWatch(const Plan& plan, const std::string& stage, const Environment& environment, const Clock& clock);

  /// Looks for a sign of life at each location. Returns the time since the last one, or since the watch
  /// began.
  std::chrono::nanoseconds Silence(std::stop_token stop);
  /// The locations, for messages.
  std::string Locations() const;

 private:
  struct Place {
    std::string location;
    std::unique_ptr<Store> store;
    std::unique_ptr<Lease> lease;
    std::string version;  // of the lease as it was seen last; empty: nobody held it
  };
  /// True if a run holds the location and has renewed its lease since the last look, or holds it at the first
  /// look. A lease that cannot be read counts as unchanged.
  static bool Moved(Place& place, const std::stop_token& stop);

  std::vector<Place> places_;
  const Clock& clock_;
  std::chrono::nanoseconds last_;
};

}  // namespace pipeline
