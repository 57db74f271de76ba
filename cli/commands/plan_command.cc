#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/live/status_display.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/worker/planning.h"
#include "cli/workspace/pipeline_words.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Returns the location in a form that is valid for workers in other directories and on other machines.
Result<std::string> Absolute(const std::string& location) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(location));
  return uri.is_local() ? std::filesystem::absolute(uri.path).string() : location;
}

int OfferUnits(PlanningRequest request, const Call& call) {
  SignalWatch signals;
  const std::unique_ptr<LoadedPipeline> loaded =
      LoadPipeline(request.pipeline, LoadPurpose::kOffer, &request.text, request.selection.until);
  if (!loaded) return kExitRefused;
  Result<std::string> where = Absolute(request.package);
  if (!where.ok()) return Refuse(where.status());
  request.package = std::move(*where);
  request.directory = std::filesystem::current_path().string();
  request.command = CommandLineOf(call);
  StatusDisplay display(false);
  const PlanningOutcome planning = PlanUnits(request, *loaded, display, signals.token());
  if (!planning.written.ok()) {
    if (planning.written.code() == Code::kCancelled && signals.exit_code() != 0) return signals.exit_code();
    return planning.told ? kExitRefused : Refuse(planning.written);
  }
  std::printf("%zu\n", planning.offered.size());
  return planning.run.ok() && planning.left_out.empty() ? kExitDone : kExitFailed;
}

}  // namespace

Command PlanCommand() {
  const auto request = std::make_shared<PlanningRequest>();
  return {
      .name = "plan",
      .help = "Offer the units that can run now to workers; print their number, 0 if all is done",
      .words = Joined(PipelineWords(request->pipeline),
                      {UntilWord(request->selection.until),
                       FromLogWord(request->selection.from_log),
                       CheckWord(request->check),
                       {.flags = {"-o", "--output"},
                        .value = "PLACE",
                        .help = "Directory or URI below which the work package is written",
                        .required = true,
                        .to = &request->package},
                       ThreadsWord(request->threads)}),
      .run = [request](const Call& call) { return OfferUnits(*request, call); },
  };
}

}  // namespace pipeline
