#include <memory>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/run_pipeline.h"
#include "cli/terminal/exit_code.h"
#include "cli/workspace/last_settings.h"

namespace pipeline {

namespace {

/// All words that `pipe run` and `pipe retry` share.
std::vector<Word> RunWords(RunRequest& request) {
  return Joined(PipelineWords(request.pipeline),
                {
                    {.flags = {"-n", "--dry-run"},
                     .help = "Show the stages that would run, their input size and the disk that they need",
                     .to = &request.dry_run},
                    {.flags = {"--ask"},
                     .help = "With -n: ask servers for the sizes of files that are not here",
                     .to = &request.ask},
                    {.flags = {"--explain"},
                     .help = "Show for each stage why it runs or does not, with the keys that changed",
                     .to = &request.explain},
                    {.flags = {"-k", "--keep-going"},
                     .value = "N",
                     .help = "Stop after N failures",
                     .positive = true,
                     .to = &request.keep_going},
                    {.flags = {"--keep-intermediates"},
                     .help = "Remove no intermediates: a changed stage runs again without those before it",
                     .to = &request.keep_intermediates},
                    CheckWord(request.check),
                    ThreadsWord(request.threads),
                    FromLogWord(request.selection.from_log),
                    {.flags = {"--strict"},
                     .help = "Let other versions of libraries count as a change",
                     .to = &request.selection.strict},
                    {.flags = {"--batch-bytes"},
                     .value = "BYTES",
                     .help = "Text per batch; speed only, never the result",
                     .range = WordRange{1, 64 << 20},
                     .to = &request.batch_bytes},
                    {.flags = {"--log-format"},
                     .help = "How messages are written: text or json",
                     .choices = {"text", "json"},
                     .to = &request.log_format},
                });
}

std::vector<Word> SelectionWords(Selection& selection) {
  return {
      {.flags = {"--from"},
       .value = "STAGE",
       .help = "Run this stage and all that follows",
       .to = &selection.from},
      {.flags = {"--only"}, .value = "STAGE", .help = "Run this stage alone", .to = &selection.only},
      UntilWord(selection.until),
      {.flags = {"--force"},
       .value = "STAGE",
       .help = "Run this stage even if it is up to date; its published artifact is replaced",
       .to = &selection.force},
  };
}

}  // namespace

Command RunCommand() {
  const auto request = std::make_shared<RunRequest>();
  return {
      .name = "run",
      .help = "Run the stages that are not done yet; an interrupted run goes on where it was",
      .words = Joined(RunWords(*request), SelectionWords(request->selection)),
      .run = [request](const Call& call) { return RunPipeline(*request, call); },
  };
}

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
