#include <memory>
#include <string>

#include "base/log.h"
#include "cli/commands/commands.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/process_setup.h"
#include "cli/terminal/signals.h"
#include "cli/worker/next_units.h"
#include "cli/workspace/pipeline_words.h"
#include "dag/pipeline_file/config.h"

namespace pipeline {

namespace {

struct WorkerWords {
  WorkerOptions options;
  std::string unit;  // for tests; empty: not given
  bool next = false;
  std::string most_time;  // of --for; empty: not given
  std::string memory;     // the same
};

int Work(WorkerWords& words) {
  if (words.next != words.unit.empty()) {
    LogError("pipe worker: --next is required");
    return kExitUsage;
  }
  if (!words.next && !words.most_time.empty()) {
    LogError("pipe worker: --for belongs to --next");
    return kExitUsage;
  }
  if (!words.memory.empty()) words.options.memory = *ParseBytes(words.memory);
  SayLastWords(kExitTryAgain);
  SignalWatch signals;
  if (words.next) {
    if (!words.most_time.empty()) words.options.most_time = *ParseTimeWord(words.most_time);
    return RunNextUnits(words.options, signals);
  }
  return RunGivenUnit(words.options, words.unit, signals);
}

}  // namespace

Command WorkerCommand() {
  const auto words = std::make_shared<WorkerWords>();
  return {
      .name = "worker",
      .help = "Run units of a work package",
      .wrong_words_exit = kExitUsage,
      .exit_statuses =
          "Exit status: 0 the unit is done, or with --next the run has ended; 1 the run has ended with\n"
          "failures; 64 the command is wrong; 65 data is damaged, or a stage\n"
          "refuses it; 66 an input is missing, damaged or changed; 70 a bug; 75 start it again: stopped,\n"
          "a place is out of reach, no space is left, or the time of --for is over; 77 permission denied;\n"
          "78 plan, file, program and this machine do not fit together.",
      .words =
          {{.flags = {"--plan"},
            .value = "PLACE",
            .help = "The place of the work package, as given to pipe plan",
            .required = true,
            .to = &words->options.plan},
           {.flags = {"--next"}, .help = "Take units, and plan, until the run has ended", .to = &words->next},
           TimeWord(words->most_time,
                    "With --next: take no unit after this time, such as 30m; the exit status is then 75"),
           {.flags = {"--unit"},
            .value = "UNIT",
            .help = "The one unit to run, as the plan names it",
            .hidden = true,
            .to = &words->unit},
           {.flags = {"--scratch"},
            .value = "DIR",
            .help = "Directory for temporary files",
            .to = &words->options.scratch},
           MemoryWord(words->memory,
                      "Memory for a unit, such as 2GiB, if it is less than limits.memory of the file; "
                      "larger units are left to other workers",
                      "PIPE_MEMORY"),
           ThreadsWord(words->options.threads)},
      .run = [words](const Call&) { return Work(*words); },
  };
}

}  // namespace pipeline
