#include "cli/commands/run_request.h"

#include "cli/terminal/threads.h"

namespace pipeline {

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

}  // namespace pipeline
