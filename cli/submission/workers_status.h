// The workers of a run, for `pipe status` and `pipe submit`: what they do now, and what they did.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "dag/package/package_view.h"
#include "dag/package/submission.h"
#include "dag/package/unit_lease.h"
#include "dag/package/work_history.h"
#include "storage/store.h"

namespace pipeline {

/// One worker with a unit.
struct WorkerStatus {
  std::string unit;  // empty: it plans
  std::string who;
  int attempt = 1;
  std::uint64_t memory = 0;          // bytes that it has for a unit; 0: unknown
  bool second = false;               // it runs the unit of a straggler again
  LeaseAge age;                      // of its lease
  std::chrono::milliseconds pace{};  // in which 95 % of the units of its stage were done; 0: unknown
  bool is_straggler() const {
    return pace.count() > 0 && age.time > std::max(3 * pace, std::chrono::milliseconds(30'000));
  }
};

/// The progress of one stage.
struct StageProgress {
  std::size_t done = 0, left = 0;  // units; more may be offered later
  double per_minute = 0;           // at the hosts that work now; 0: unknown
};

struct WorkersStatus {
  std::string package;  // location of the work package
  PackageView view;
  std::vector<WorkerStatus> workers;
  std::optional<Submission> submission;
  WorkSummary work;

  std::map<std::string, StageProgress> Stages() const;
  /// Returns the number of workers at work by host, those that plan too.
  std::map<std::string, std::size_t> AtWork() const;
  /// Returns the bytes that the largest worker has for a unit, started or at work; 0: unknown.
  std::uint64_t LargestMemory() const;
  /// Returns the units that need more.
  std::vector<const OfferedUnit*> TooLarge() const;
};

/// Looks at the workers again and again, and reads each object once. Whatever cannot be read now is left out
/// until the next look.
class WorkersWatch {
 public:
  /// `package` outlives it; `place` is its location.
  WorkersWatch(Store& package, std::string place) : package_(package), place_(std::move(place)) {}

  /// `now`: in milliseconds since 1970. Reads at most `most_results` new results.
  WorkersStatus Look(PackageView view, std::int64_t now, std::size_t most_results,
                     const std::stop_token& stop);

 private:
  std::vector<WorkerStatus> WorkersIn(const PackageView& view, std::int64_t now, const std::stop_token& stop);
  void ReadWork(const PackageView& view, std::size_t most_results, const std::stop_token& stop);

  Store& package_;
  const std::string place_;
  std::map<std::string, std::pair<std::string, SeenUnitLease>> leases_;  // by name, with the version
  std::string run_;                                                      // WorkPackage::run of the others:
  WorkHistory history_;
  std::set<std::string, std::less<>> read_;  // objects of the history and records that were read
};

/// Returns the state of the work package that the work directory `work` names. Absent: it names none.
Result<std::optional<WorkersStatus>> LookAtWorkers(Store& work, std::int64_t now,
                                                   const std::stop_token& stop);

/// Lines without the last LF; empty: no worker did anything or has anything to do.
std::string ToText(const WorkersStatus& status);
Json ToJson(const WorkersStatus& status);

/// One line for a log, and lines for a live area. `engine`: its words about the workers.
std::string LogLine(const WorkersStatus& status, const std::string& engine);
std::vector<std::string> LiveLines(const WorkersStatus& status, const std::string& engine);

}  // namespace pipeline
