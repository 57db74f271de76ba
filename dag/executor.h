// Runs a plan: which unit next, on how many threads, and what a failure means for the others.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/environment.h"
#include "dag/plan.h"
#include "spec/graph.h"

namespace pipeline {

struct UnitFailure {
  std::string unit;
  Status why;
};

/// A unit that can run now; dag/hand_out.h writes it down.
struct OfferedUnit {
  std::string unit;
  Digest recipe;  // of the last stage of its segment
  bool operator==(const OfferedUnit&) const = default;
};

struct RunOutcome {
  /// OK: all that was wanted is done. kCancelled: stopped by the token. kFailedPrecondition: see
  /// `failures`. Anything else ended the run itself, e.g. the log could not be written.
  Status status;
  std::vector<UnitFailure> failures;
  bool lost_lease = false;           // `status` says why, whatever failed besides
  std::vector<OfferedUnit> offered;  // with Share::Of::kPlanning
  bool ran = false;                  // with Share::Of::kOneUnit: there was something to do
};

/// One run of one plan. The coordinator is the thread that calls Run; each running unit has a thread of
/// its own, and the batches of all of them share one Arena.
class Executor {
 public:
  /// Everything outlives the executor. The plan has no refusals.
  Executor(const Graph& graph, const Plan& plan, const Facts& facts, const Environment& environment,
           const RunOptions& options);
  ~Executor();

  /// Makes the stages and divides the memory; writes nothing. kInvalidArgument: the limits cannot hold,
  /// or a stage cannot be made from its configuration.
  Status Prepare();
  /// Makes sure that what will be published can be, by this run alone: an error means that nothing ran.
  Status ClaimPlaces(std::stop_token stop);
  RunOutcome Run(std::stop_token stop);

 private:
  class Coordinator;
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace pipeline
