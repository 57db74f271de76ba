// A pipeline of toys and real stages in a directory of its own: planned and run as the program does it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dag/environment.h"
#include "dag/plan/plan.h"
#include "dag/plan/selection.h"
#include "dag/run/executor.h"
#include "tests/support/temp_dir.h"
#include "tests/support/toy_stages.h"

namespace pipeline {

/// What one run did.
struct ToyOutcome {
  Code code = Code::kOk;
  std::vector<std::string> units;     // "done tokens/0000-00000": lines about units that it logged, sorted
  std::vector<std::string> failures;  // "unit: why"
  bool refused = false;               // a Job's stage refused to go on
  std::vector<std::string> refusals;  // not empty: nothing ran
  std::vector<std::string> reports;
  std::vector<std::string> notes;
  std::vector<std::string> offered;
  std::vector<std::string> scanned;  // those of `offered` that are scanned already
  std::vector<OfferedUnit> offers;   // the same, with their needs
  StageNeeds needs;
  std::vector<std::string> because;  // why the wanted segments run

  int Count(std::string_view prefix) const;  // of units
};

class ToyPlace {
 public:
  ToyPlace();

  /// Runs the file with `stages` below a source, `lines` and `docs`: three inputs cut into partitions.
  ToyOutcome Run(std::string_view stages, const Selection& selection = {}, int keep_going = 1,
                 ExecutionMode mode = ExecutionMode::kAll, const std::string& unit = {});
  /// The same; the test fails where it does not end well.
  ToyOutcome Ok(std::string_view stages, const Selection& selection = {});

  /// Every file below the directory `below`, its name and bytes; those below `.pipe/` aside.
  std::vector<std::string> Files(const std::string& below) const;
  /// The path of a file in a directory STAGE-* of the work directory.
  std::string PartitionOutput(const std::string& stage, const std::string& name) const;
  std::string path(std::string_view name) const { return dir_ / name; }
  /// Returns whether the log has this text now; also during a run.
  bool Logged(std::string_view text) const;

  ToyHand hand;
  std::uint64_t memory = std::uint64_t{4} << 30;
  int threads = 3;
  std::string rules{};                         // of `lines`, in the next runs; empty: the plan chooses them
  std::function<void(Environment&)> adjust{};  // changes the environment of the next runs; may be empty
  bool keep_intermediates = false;             // in the next runs
  bool cut_inputs = false;                     // of four partitions or more, by the next units
  std::chrono::minutes scan_period{1};         // of the next units
  RecordObserver* watch = nullptr;             // sees the batches of the next runs; null: nobody does

 private:
  TempDir dir_;
};

}  // namespace pipeline
