#include <memory>

#include "cli/commands/commands.h"
#include "cli/commands/run_pipeline.h"
#include "cli/terminal/exit_code.h"
#include "cli/workspace/last_settings.h"

namespace pipeline {

Command RetryCommand() {
  const auto request = std::make_shared<RunRequest>();
  request->only_failed = true;
  return {
      .name = "retry",
      .help = "Run the part of the last run that failed, and all that it needs",
      .words = RunWords(*request),
      .run =
          [request](const Call& call) {
            const Result<Call> with = WithLastSettings(call, request->pipeline, true);
            return with.ok() ? RunPipeline(*request, *with) : Refuse(with.status());
          },
  };
}

}  // namespace pipeline
