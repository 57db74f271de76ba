// A run by an engine: plans, starts workers, watches them, or ends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/live/status_display.h"
#include "cli/submit/cloud_job.h"
#include "cli/submit/engine.h"
#include "cli/workspace/pipeline_words.h"
#include "dag/package/package_view.h"
#include "dag/package/submission.h"
#include "dag/plan/selection.h"
#include "storage/store.h"

namespace pipeline {

struct SubmitRequest {
  PipelineOptions pipeline;
  std::string command;  // as it was typed, without secrets
  Selection selection;
  std::string engine;  // --on; empty: --emit was given, or --cancel
  std::string emit;    // batch or k8s; empty: none
  bool cancel = false;
  std::string package;       // -o; empty: in the work directory
  int workers = 0;           // 0: 4, or 1 on this machine
  int cores = 0;             // of each worker; 0: 1, or those of this machine divided by its workers
  std::uint64_t memory = 0;  // bytes of each worker for a unit; 0: the default
  std::string scratch;       // of a worker; empty: its system's
  std::string most_time;     // --for, of a worker; empty: no bound
  std::string program;       // the program on the hosts; empty: this one, or that of the image
  EngineOptions options;
  CloudOptions cloud;
};

/// Returns the exit status.
int SubmitRun(const SubmitRequest& request);

/// The outcome of a watch over a run that workers elsewhere do.
struct WatchOutcome {
  std::optional<PackageView> ended;  // with its end; absent: the run has not ended
  std::string engine;                // the engine's words, if its workers ended before the run
};

/// Shows the workers in the live area of `display`; if it has none, prints a line when something has changed,
/// every ten seconds at most. `place`: the location of `package`. `before`: an earlier look at it; null:
/// there was none. kCancelled: `stop`.
Result<WatchOutcome> WatchRun(Store& package, const std::string& place, const PackageView* before,
                              Engine& engine, const Submission& submission, StatusDisplay& display,
                              const std::stop_token& stop);

/// Waits until the workers of a run that has ended have ended, too, for half a minute at most.
void WaitForWorkers(Engine& engine, const Submission& submission, const std::stop_token& stop);

/// Messages of the workers, in files of their engine, as far as this machine sees them.
class WorkerMessages {
 public:
  /// Messages that are in `directory` now belong to earlier workers. If absent: there are none.
  explicit WorkerMessages(std::string directory);

  /// Returns the last error that each file has got since then, the same one once, at most `most`. If no
  /// worker told one, as where its program is missing: the last lines, but rather no warnings.
  std::vector<std::string> LastErrors(std::size_t most) const;

 private:
  std::map<std::string, std::uint64_t> Sizes() const;

  const std::string directory_;
  const std::map<std::string, std::uint64_t> before_;  // bytes, by name
};

}  // namespace pipeline
