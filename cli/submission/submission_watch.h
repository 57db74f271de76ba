// Watches a run that workers elsewhere do, until it ends.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "cli/live/status_display.h"
#include "cli/submit/engine.h"
#include "dag/package/package_view.h"
#include "dag/package/submission.h"
#include "storage/store.h"

namespace pipeline {

/// The outcome of a watch.
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

}  // namespace pipeline
