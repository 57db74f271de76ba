// The state of the runs of a work directory or home: one answer for `pipe status`, `pipe runs` and
// `pipe report`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/live/run_now.h"
#include "cli/report/run_record.h"
#include "cli/report/workers_run.h"
#include "cli/workspace/books.h"
#include "dag/books/run_log.h"

namespace pipeline {

/// One run, as far as its directory tells.
struct RunStatus {
  RunLine line;
  bool by_workers = false;  // of the present work package
  bool runs = false;        // a process of this machine, or workers, have not ended it
  /// With the work of the workers. Null: there is none that can be read.
  std::shared_ptr<const RunRecord> record;
  std::optional<RunNow> now;  // while a process runs it

  /// "done", "failed", "cancelled", "running", "killed"; by workers also kWaiting.
  std::string Outcome() const;
  /// Workers may still go on with it.
  bool IsOpen() const { return by_workers && (line.outcome.empty() || line.outcome == kWaiting); }
};

class RunsStatus {
 public:
  /// `books` outlives it. A run by workers that cannot be read is missing, with a warning.
  explicit RunsStatus(const Books& books);

  /// The oldest comes first.
  const std::vector<RunLine>& lines() const { return lines_; }
  /// `line`: one of lines().
  RunStatus Look(const RunLine& line) const;
  /// Returns the run by workers if it is the run `id`; otherwise null.
  const WorkersRun* WorkersOf(const std::string& id) const;

 private:
  const Books& books_;
  const std::optional<WorkersRun> workers_;
  const std::vector<RunLine> lines_;
};

}  // namespace pipeline
