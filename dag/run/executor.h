// Runs a plan: decides which unit runs next, on how many threads, and how a failure affects the others.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"
#include "dag/run/unit_needs.h"

namespace pipeline {

struct UnitFailure {
  std::string unit;
  Status why;
};

/// A unit that can run now; dag/package/work_package.h stores it in a file.
struct OfferedUnit {
  std::string unit;
  Digest recipe;         // of the last stage of its segment
  bool scanned = false;  // an input whose first cuts are known, so that its scan goes on
  UnitNeeds needs{};
  bool operator==(const OfferedUnit&) const = default;
};

struct RunOutcome {
  /// OK: everything wanted is done. kCancelled: stopped by the token. kFailedPrecondition: see `failures`.
  /// Any other error ended the run itself, e.g. the log could not be written.
  Status status;
  std::vector<UnitFailure> failures;
  bool lost_lease = false;           // `status` says why, whatever else failed
  std::vector<OfferedUnit> offered;  // with ExecutionMode::kPlanning
  StageNeeds needs;                  // with ExecutionMode::kPlanning
  /// For the last lines of a good run: text that its artifacts lack (TellFaults).
  std::vector<std::string> faults;
  bool ran = false;  // with ExecutionMode::kOneUnit: the unit had work to do
};

/// Runs one plan once, or units of one of its stages, one after the other. The coordinator is the thread that
/// calls Run; each running unit has its own thread, and the batches of all units share one Arena.
class Executor {
 public:
  /// All arguments outlive the executor. The plan has no refusals.
  Executor(const Graph& graph, const Plan& plan, const Snapshot& snapshot, const Environment& environment,
           const RunOptions& options);
  ~Executor();

  /// Makes the stages and divides the memory; writes nothing. kInvalidArgument: the limits are too small,
  /// or a stage cannot be made from its configuration.
  Status Prepare();
  /// Makes sure that this run, and no other, can publish at all its locations. After an error nothing has
  /// run.
  Status MarkLocations(std::stop_token stop);
  RunOutcome Run(std::stop_token stop);
  /// With ExecutionMode::kOneUnit: runs `unit`, of the stage RunOptions::stage. May be called again unless
  /// the outcome was a failure. The shared parts of units are prepared once, so a unit costs the same
  /// whatever the number of inputs is.
  RunOutcome RunUnit(const std::string& unit, std::stop_token stop);

 private:
  class Coordinator;
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace pipeline
