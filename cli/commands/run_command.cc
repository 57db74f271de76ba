#include <memory>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/run_pipeline.h"

namespace pipeline {

namespace {

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

}  // namespace pipeline
