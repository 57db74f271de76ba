// Executes a planned run on this machine, keeps its record, and prints its outcome.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/commands/planned_run.h"
#include "cli/live/status_display.h"
#include "cli/report/kept_run.h"
#include "cli/report/run_recorder.h"
#include "cli/report/sample_collector.h"
#include "cli/terminal/signals.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/environment.h"
#include "dag/run/executor.h"

namespace pipeline {

class RunExecution {
 public:
  /// All arguments outlive it. `file`: the pipeline file as its messages name it.
  RunExecution(const std::string& file, LoadedPipeline& loaded, const PlannedRun& run,
               const RunOptions& options, StatusDisplay& display);

  /// As Executor::Prepare; writes nothing.
  Status Prepare() { return executor_.Prepare(); }
  /// Returns the exit status. `command_line`: how the run was called. Call Prepare before.
  int Run(const std::string& command_line, const SignalWatch& signals);

 private:
  RunOutcome Execute(const std::string& run_id, const SignalWatch& signals);
  int EndDone(const RunOutcome& outcome, KeptRun& kept);
  int EndUndone(const RunOutcome& outcome, KeptRun& kept, const std::string& command_line,
                const SignalWatch& signals);

  const std::string& file_;
  LoadedPipeline& loaded_;
  const PlannedRun& run_;
  const RunOptions& options_;
  StatusDisplay& display_;
  RunRecorder recorder_;
  SampleCollector samples_;
  const Environment environment_;
  Executor executor_;
};

}  // namespace pipeline
