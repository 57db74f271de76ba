// Runs a pipeline on this machine: `pipe run` and `pipe retry`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "base/status.h"
#include "cli/live/status_display.h"
#include "cli/terminal/command.h"
#include "cli/terminal/signals.h"
#include "cli/workspace/pipeline_loader.h"
#include "cli/workspace/pipeline_words.h"
#include "cli/workspace/workspace.h"
#include "dag/environment.h"
#include "dag/pipeline_file/graph.h"
#include "dag/plan/plan.h"
#include "dag/plan/selection.h"
#include "dag/plan/snapshot.h"
#include "dag/progress.h"

namespace pipeline {

/// The request of `pipe run` and `pipe retry`.
struct RunRequest {
  PipelineOptions pipeline;
  Selection selection;       // `failed` is empty: the log of the last run has them
  bool only_failed = false;  // `pipe retry`
  bool dry_run = false;      // -n
  bool ask = false;          // -n: also ask servers
  bool explain = false;
  bool check = false;                     // all local sources are read again
  bool keep_intermediates = false;        // also those that nothing unfinished needs
  int keep_going = 1;                     // -k
  int threads = 0;                        // -j; 0: as many as there are cores
  std::uint64_t batch_bytes = 256 << 10;  // --batch-bytes
  std::string log_format = "text";        // or "json"
};

/// Runs, or with `dry_run` only plans, the pipeline of `request`, and prints all messages. Returns the exit
/// status (cli/terminal/exit_code.h). Call it from the main thread, before other threads exist: it handles
/// the signals of the program. `call`: its words are kept in the record of the run, without secrets.
int RunPipeline(const RunRequest& request, const Call& call);

/// `pipe run` on a machine that follows another one: runs its Jobs as one of several hosts, and nothing else.
/// Waits until the leader has published the inputs of each Job, then runs it. Returns the exit status.
/// `options` has the positions.
int FollowRun(const RunRequest& request, LoadedPipeline& loaded, const RunOptions& options,
              StatusDisplay& display, const SignalWatch& signals);

/// A run that is planned in the opened work directory.
struct PlannedRun {
  std::unique_ptr<Workspace> workspace;
  Snapshot snapshot;
  Plan plan;  // without refusals
};

/// Opens the work directory and plans. The exit status instead: the command ends, and its messages are
/// printed. `progress` outlives the result.
std::variant<PlannedRun, int> PlanRun(const RunRequest& request, LoadedPipeline& loaded, Progress& progress,
                                      const SignalWatch& signals);

/// Prints the plan if it was asked for, and warns of disks that may run full. kInvalidArgument: the run takes
/// more disk than limits.disk; kResourceExhausted: more than is free.
Status PrintForecast(const RunRequest& request, const LoadedPipeline& loaded, const PlannedRun& run,
                     const RunOptions& options);

/// Checks before a run that this machine has all that the stages need; prepares every stage that runs. The
/// error is that of the first stage that lacks something.
Status PrepareStages(const RunRequest& request, const Graph& graph, const Plan& plan);

}  // namespace pipeline
