// Watches a run that workers elsewhere do, until it ends.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "cli/submit/engine.h"
#include "dag/package/package_view.h"
#include "dag/package/submission.h"
#include "storage/store.h"

namespace pipeline {

/// The outcome of a watch.
struct WatchOutcome {
  std::optional<RunEnd> end;  // absent: the run has not ended
  std::string engine;         // the engine's words, if its workers ended before the run
};

/// Prints a line when something has changed, every ten seconds at most. kCancelled: `stop`.
Result<WatchOutcome> WatchRun(Store& package, Engine& engine, const Submission& submission,
                              const std::stop_token& stop);

/// Waits until the workers of a run that has ended have ended, too, for half a minute at most.
void WaitForWorkers(Engine& engine, const Submission& submission, const std::stop_token& stop);

}  // namespace pipeline
