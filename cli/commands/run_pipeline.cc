#include "cli/commands/run_pipeline.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/attendance.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/follow_run.h"
#include "cli/commands/job_positions.h"
#include "cli/commands/plan_text.h"
#include "cli/commands/planned_run.h"
#include "cli/commands/run_execution.h"
#include "cli/commands/stage_preparation.h"
#include "cli/live/status_display.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/refuse.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/threads.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/plan/unneeded_outputs.h"

namespace pipeline {

namespace {

/// Null: the file has mistakes, which are printed.
std::unique_ptr<LoadedPipeline> Load(const RunRequest& request) {
  const Selection& selection = request.selection;
  std::unique_ptr<LoadedPipeline> loaded =
      LoadPipeline(request.pipeline, request.dry_run ? LoadPurpose::kCheck : LoadPurpose::kRun, nullptr,
                   selection.until.empty() ? selection.only : selection.until);
  const std::string& subset = request.pipeline.subset;
  if (loaded && subset.ends_with('%'))
    LogInfo(StrCat("--subset ", subset, ": all of the corpus is read, and that part of its documents ",
                   "kept; a number, such as --subset 5000, reads no more than the beginning of each file"));
  return loaded;
}

RunOptions RunOptionsOf(const RunRequest& request, const PipelineSpec& spec) {
  RunOptions options;
  options.threads = ThreadCount(request.threads);
  options.keep_going = request.keep_going;
  options.memory_bytes = spec.memory_limit;
  options.batch_bytes = request.batch_bytes;
  options.keep_intermediates = request.keep_intermediates;
  return options;
}

/// Tells of sources that count as unchanged by their sizes and times, as far as the run did not read them.
void PrintNotRead(Workspace& workspace) {
  const ByTimesAlone found = workspace.NotRead();
  if (found.files == 0) return;
  LogInfo(StrCat(
      HumanBytes(found.bytes),
      found.files == 1 ? StrCat(" of ", found.path, " was") : StrCat(" of ", found.files, " sources were"),
      " compared by size and times alone; --check reads all"));
}

}  // namespace

int RunPipeline(const RunRequest& request, const Call& call) {
  SignalWatch signals;
  const std::unique_ptr<LoadedPipeline> loaded = Load(request);
  if (!loaded) return kExitRefused;
  StatusDisplay display(request.log_format == "json");
  RunOptions options = RunOptionsOf(request, loaded->spec);
  if (!request.dry_run) {
    Result<JobPositions> positions = FindPositions(loaded->graph, request.selection);
    if (!positions.ok()) return Refuse(positions.status());
    options.positions = std::move(*positions);
    if (Follows(options.positions)) return FollowRun(request, *loaded, options, display, signals);
  }
  std::optional<Attendance> attendance(std::in_place, signals.token());
  std::variant<PlannedRun, int> planned = PlanRun(request, *loaded, display, signals);
  if (const int* const exit_code = std::get_if<int>(&planned)) return *exit_code;
  const PlannedRun& run = std::get<PlannedRun>(planned);
  if (const Status fits = PrintForecast(request, *loaded, run, options); !fits.ok()) return Refuse(fits);

  RunExecution execution(request.pipeline.file, *loaded, run, options, display);
  // This comes before the end of -n, because it also tells whether the limits suffice.
  if (const Status prepared = execution.Prepare(); !prepared.ok()) return Refuse(prepared);
  const Status ready = PrepareStages(request, loaded->graph, run.plan);
  if (request.dry_run) {
    if (!ready.ok()) LogWarning(ready.message());
    return kExitDone;
  }
  if (run.plan.nothing_to_do()) {
    if (RemovesOutputs(options))
      RemoveUnneeded(run.workspace->environment(), run.plan.unneeded, signals.token());
    PrintUpToDate(loaded->graph, run.plan);
    PrintNotRead(*run.workspace);
    return kExitDone;
  }
  if (!ready.ok()) return Refuse(ready);
  attendance.reset();
  const int exit_code = execution.Run(CommandLineOf(call), signals);
  if (exit_code == kExitDone) PrintNotRead(*run.workspace);
  return exit_code;
}

}  // namespace pipeline
