// `pipe run` on a machine that follows another one: runs its Jobs as one of several hosts, and nothing else.
#pragma once

#include "cli/commands/run_request.h"
#include "cli/live/status_display.h"
#include "cli/terminal/signals.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/environment.h"

namespace pipeline {

/// Waits until the leader has published the inputs of each Job, then runs it. Returns the exit status.
/// `options` has the positions.
int FollowRun(const RunRequest& request, LoadedPipeline& loaded, const RunOptions& options,
              StatusDisplay& display, const SignalWatch& signals);

}  // namespace pipeline
