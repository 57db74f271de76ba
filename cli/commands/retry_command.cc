#include "cli/commands/retry_command.h"

#include <memory>

#include "cli/commands/run_pipeline.h"

namespace pipeline {

Command RetryCommand() {
  const auto request = std::make_shared<RunRequest>();
  request->only_failed = true;
  return {
      .name = "retry",
      .help = "Run the part of the last run that failed, and all that it needs",
      .words = RunWords(*request),
      .run = [request](const Call& call) { return RunPipeline(*request, call); },
  };
}

}  // namespace pipeline
