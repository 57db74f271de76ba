// The units of one work package on this machine, one after the other.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/result.h"
#include "cli/live/status_display.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/workspace.h"
#include "dag/package/work_package.h"
#include "dag/package/work_results.h"
#include "dag/plan/plan.h"
#include "dag/plan/snapshot.h"
#include "dag/run/executor.h"
#include "storage/store.h"

namespace pipeline {

/// Returns the exit status of `pipe worker` for a failure.
int WorkerExitOf(const Status& why);

/// Detail of the failure of PackageRun::Open: the copy of the log that the plan names is missing or damaged.
struct LogIsMissing final : StatusDetail {};

/// The outcome of one unit.
struct UnitEnd {
  int code = 0;             // the exit status of `pipe worker --unit`
  std::string why;          // empty: it is done
  bool plan_again = false;  // only the next plan tells what is to be done with it
  bool unfit = false;       // this machine has another source than the plan
};

/// Everything that the units of one plan share. One thread.
class PackageRun {
 public:
  /// Reads the plan's file, log and inputs. `store` is rooted at the work package; it, `loaded` and `display`
  /// outlive the run. `scratch` is a directory that this process alone uses, and that outlives the run.
  static Result<std::unique_ptr<PackageRun>> Open(Store& store, const WorkPackage& work_package,
                                                  LoadedPipeline& loaded, const std::string& scratch,
                                                  int threads, std::uint64_t memory, StatusDisplay& display,
                                                  std::string who, const std::stop_token& stop);

  /// True if other workers may have stored results of the unit since the plan.
  enum class Others : std::uint8_t { kMayHaveBegun, kHaveNotBegun };
  /// Runs one unit, and stores its results in the work package. Prints why it failed.
  UnitEnd Run(const std::string& unit, Others others, const std::stop_token& stop);

 private:
  PackageRun(Store& store, const WorkPackage& work_package, LoadedPipeline& loaded, StatusDisplay& display)
      : store_(store),
        work_package_(work_package),
        loaded_(loaded),
        display_(display),
        results_(store, work_package.run) {}
  UnitEnd Fail(const std::string& unit, const Status& why, int code) const;
  UnitEnd Fail(const std::string& unit, const Status& why) const {
    return Fail(unit, why, WorkerExitOf(why));
  }
  Status MakeItsPlan();
  /// Makes the executor for the units of `stage`, unless there is one.
  Status Prepare(const std::string& stage);
  /// Adds the results of other workers to the log, as far as they matter to `unit`.
  Status AddRecords(const std::string& unit, Others others);
  /// OK: the files that no stage makes and that are no sources, such as a dictionary, are those that the
  /// snapshot has. kUnavailable: this run must be opened again.
  Status CheckSideFiles() const;
  /// OK: this program makes the same recipe of the file as the plan.
  Status CheckRecipe(const std::string& unit, std::string_view stage) const;
  /// Stores a work result for a line of the unit that runs; a failure only ends this unit.
  Status Tell(const UnitLine& line);
  UnitRecord RecordFor(const UnitLine& line) REQUIRES(mutex_);
  /// Stores the work result that was held back, if there is one.
  Status WriteHeld() REQUIRES(mutex_);
  UnitEnd NoSuchUnit(const std::string& unit) const;
  UnitEnd EndOf(const std::string& unit, const RunOutcome& outcome, const Status& told) const;

  Store& store_;
  const WorkPackage work_package_;
  LoadedPipeline& loaded_;
  StatusDisplay& display_;
  ResultWriter results_;
  std::map<std::string_view, Digest> recipes_;  // of the offered units, by unit
  Mutex mutex_;
  std::map<std::uint32_t, UnitRecord> lineages_
      GUARDED_BY(mutex_);                              // by segment line; of each only its lineage
  std::optional<UnitRecord> held_ GUARDED_BY(mutex_);  // of the first partition of the input that is read
  std::optional<UnitRecord> done_ GUARDED_BY(mutex_);  // of the first partition of the unit that runs
  std::string who_;
  std::unique_ptr<Workspace> workspace_;
  std::optional<Snapshot> snapshot_;
  std::optional<Plan> plan_;
  RunOptions options_;
  std::unique_ptr<Executor> executor_;           // of options_.stage; null: the next unit needs another one
  std::string running_;                          // the unit that runs, if it is one of partitions
  bool adding_ = false;                          // lines of other workers are added to the log
  std::atomic<bool> damaged_ = false;            // the unit that runs found its input damaged
  std::chrono::steady_clock::time_point began_;  // of the unit that runs
  std::int64_t began_at_ = 0;                    // the same in milliseconds since 1970
};

}  // namespace pipeline
