#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/submission/submission_run.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/exit_code.h"
#include "cli/workspace/pipeline_words.h"
#include "dag/pipeline_file/config.h"

namespace pipeline {

namespace {

struct SubmitWords {
  SubmitRequest request;
  std::string memory;  // empty: not given
};

/// A word that only some engines or forms know.
struct OwnWord {
  std::string_view flag;
  bool given;
  std::vector<std::string_view> of;
};

/// Empty: `way` knows all words that were given.
std::string RefuseOthersWords(const SubmitRequest& request, std::string_view way) {
  const std::vector<OwnWord> words{
      {"--image", !request.cloud.image.empty(), {"batch", "k8s"}},
      {"--service-account", !request.cloud.service_account.empty(), {"batch", "k8s"}},
      {"--region", !request.cloud.region.empty(), {"batch"}},
      {"--machine-type", !request.cloud.machine_type.empty(), {"batch"}},
      {"--engine-option", !request.options.words.empty(), {"slurm"}},
      {"--address", !request.options.address.empty(), {"ray"}},
      {"--python", request.options.python != EngineOptions().python, {"ray"}},
  };
  for (const OwnWord& word : words)
    if (word.given && std::find(word.of.begin(), word.of.end(), way) == word.of.end())
      return StrCat(word.flag, ": ", way, " has no such option; it is for ", word.of.front(),
                    word.of.size() > 1 ? StrCat(" and ", word.of.back()) : "");
  return {};
}

int Submit(SubmitWords& words, const Call& call) {
  SubmitRequest& request = words.request;
  if (!words.memory.empty()) request.memory = *ParseBytes(words.memory);
  const int ways =
      (request.engine.empty() ? 0 : 1) + (request.emit.empty() ? 0 : 1) + (request.cancel ? 1 : 0);
  if (ways != 1) return Refuse("pipe submit: give one of --on, --emit and --cancel");
  if (!request.emit.empty() && request.cloud.image.empty())
    return Refuse(
        "pipe submit: --emit needs --image, the container image that has this program; "
        "cli/submit/image/Containerfile makes one");
  if (!request.cancel) {
    std::string refusal = RefuseOthersWords(request, request.emit.empty() ? request.engine : request.emit);
    if (refusal.empty() && !request.emit.empty())
      refusal = CheckCloudOptions(request.emit, request.cloud, request.workers).message();
    if (!refusal.empty()) return Refuse(StrCat("pipe submit: ", refusal));
  }
  request.command = CommandLineOf(call);
  return SubmitRun(request);
}

/// Here --scratch is that of the workers. This machine plans in the default one.
std::vector<Word> WithoutScratch(std::vector<Word> words) {
  std::erase_if(words, [](const Word& word) { return word.flags == std::vector<std::string>{"--scratch"}; });
  return words;
}

}  // namespace

Command SubmitCommand() {
  const auto words = std::make_shared<SubmitWords>();
  SubmitRequest* const request = &words->request;
  constexpr int kMost = std::numeric_limits<int>::max();
  return {
      .name = "submit",
      .help = "Run on many machines, by an engine that starts workers there; watch until the end",
      .words = Joined(
          WithoutScratch(PipelineWords(request->pipeline)),
          {UntilWord(request->selection.until),
           FromLogWord(request->selection.from_log),
           {.flags = {"--on"},
            .value = "ENGINE",
            .help = "The engine that starts the workers",
            .choices = {"local", "slurm", "ray"},
            .to = &request->engine},
           {.flags = {"--emit"},
            .value = "FORM",
            .help = "Plan, and print a job for Google Cloud Batch or Kubernetes, which a person submits",
            .choices = {"batch", "k8s"},
            .to = &request->emit},
           {.flags = {"--cancel"},
            .help = "End the workers of an earlier call; finished work is kept",
            .to = &request->cancel},
           {.flags = {"--workers"},
            .value = "W",
            .help = "Number of workers (4; 1 on this machine)",
            .range = WordRange{1, kMost},
            .to = &request->workers},
           {.flags = {"--cores"},
            .value = "C",
            .help = "Cores of each worker (1; on this machine all cores together)",
            .range = WordRange{1, kMost},
            .to = &request->cores},
           MemoryWord(
               words->memory,
               "Memory of each worker for a unit, such as 2GiB (limits.memory; on Slurm as much as the "
               "units need)"),
           {.flags = {"-o", "--output"},
            .value = "PLACE",
            .help = "Directory or URI of the work package (package/ in the work directory)",
            .to = &request->package},
           {.flags = {"--scratch"},
            .value = "DIR",
            .help = "Directory of each host for temporary files of its workers",
            .to = &request->scratch},
           TimeWord(request->most_time,
                    "Workers end after this time, such as 30m, and are started again: for a time limit of "
                    "the engine"),
           {.flags = {"--program"},
            .value = "PATH",
            .help = "The program on the hosts (the path of this one; with --emit /usr/local/bin/pipe)",
            .to = &request->program},
           {.flags = {"--engine-option"},
            .value = "WORD",
            .help = "One more word for the engine's own command: --engine-option=--partition=long for Slurm",
            .to = &request->options.words},
           {.flags = {"--address"},
            .value = "HOST:PORT",
            .help = "Address of the Ray cluster (that of this host)",
            .to = &request->options.address},
           {.flags = {"--python"},
            .value = "PATH",
            .help = "The Python that has Ray (python3)",
            .to = &request->options.python},
           {.flags = {"--image"},
            .value = "IMAGE",
            .help = "With --emit: the container image that has this program",
            .to = &request->cloud.image},
           {.flags = {"--service-account"},
            .value = "NAME",
            .help = "With --emit: the account of the workers",
            .to = &request->cloud.service_account},
           {.flags = {"--region"},
            .value = "REGION",
            .help = "With --emit batch: where the machines are, such as us-central1",
            .to = &request->cloud.region},
           {.flags = {"--machine-type"},
            .value = "TYPE",
            .help = "With --emit batch: such as n2-standard-8 (one that has the cores and the memory)",
            .to = &request->cloud.machine_type}}),
      .run = [words](const Call& call) { return Submit(*words, call); },
  };
}

}  // namespace pipeline
