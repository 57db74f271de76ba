// `pipe worker`: takes units until the run has ended, or runs one.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "cli/terminal/signals.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/package/unit_queue.h"
#include "dag/package/work_package.h"
#include "storage/store.h"

namespace pipeline {

/// The options of a worker.
struct WorkerOptions {
  std::string plan;                        // the location of the work package
  std::string scratch;                     // a directory for temporaries; empty: the system's
  int threads = 0;                         // 0: as many as this machine has cores
  std::uint64_t memory = 0;                // most bytes for a unit; 0: limits.memory
  std::chrono::milliseconds most_time{0};  // of `--next`: no unit is taken later; 0: no bound
};

/// A directory for the files that this process alone uses, which is removed with this object.
class Scratch {
 public:
  /// `below`: its parent. Empty: the system's directory for temporary files.
  explicit Scratch(const std::string& below);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path() const { return path_.string(); }
  /// Returns the bytes that may lie in it: the free ones, and its own. Absent: the system does not tell.
  std::optional<std::uint64_t> Room() const;
  /// Not OK: the directory cannot be used.
  const Status& status() const { return status_; }

 private:
  std::filesystem::path path_;
  Status status_;
};

/// A work package, opened by a worker.
struct OpenedPackage {
  std::unique_ptr<Store> store;
  WorkPackage plan;
  std::unique_ptr<Scratch> scratch;
  std::unique_ptr<LoadedPipeline> loaded;
  WorkerRoom room;  // its scratch: as the package was opened
};

/// Opens the work package, makes a scratch, changes to the directory where `pipe plan` ran, and loads the
/// pipeline file. Returns the exit status of `pipe worker`; 0: `opened` has everything. Prints why it is
/// another one.
int OpenPackage(const WorkerOptions& options, OpenedPackage& opened, const std::stop_token& stop);

/// Takes units. Returns the exit status: 0 if the run has ended well, 1 if it has failed, 75 to try again,
/// else that of a unit.
int RunNextUnits(const WorkerOptions& options, SignalWatch& signals);

/// For tests: runs one unit without the queue. Returns the exit status of the unit. If the plan does not
/// offer `unit`: the unit runs if it may run now.
int RunGivenUnit(const WorkerOptions& options, const std::string& unit, SignalWatch& signals);

}  // namespace pipeline
