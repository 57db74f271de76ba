#include "cli/commands/run_pipeline.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attendance.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "cli/commands/plan_text.h"
#include "cli/live/stage_line.h"
#include "cli/report/kept_run.h"
#include "cli/report/run_recorder.h"
#include "cli/report/sample_collector.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/event_file.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "dag/books/unit_id.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/unneeded_outputs.h"
#include "dag/run/executor.h"

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

using JobPositions = std::map<std::string, JobPosition, std::less<>>;  // by stage

/// Asks each Job that `selection` may run for the number of this machine among those that run it together.
/// The stages may read the environment and ask the metadata server.
Result<JobPositions> FindPositions(const Graph& graph, const Selection& selection) {
  JobPositions positions;
  for (const NodeId node : graph.nodes().ids()) {
    const StageSpec& spec = *graph[node].spec;
    const JobKind* const job = spec.type->job();
    if (job == nullptr || !job->find_position || !MayRun(graph, selection, node)) continue;
    Result<JobPosition> position = job->find_position(spec.config);
    if (!position.ok()) return std::move(position).status().Annotate(StrCat("stage '", spec.name, "'"));
    positions.emplace(spec.name, std::move(*position));
  }
  return positions;
}

/// Returns whether this machine follows another one in a Job, so it runs nothing else.
bool Follows(const JobPositions& positions) {
  return std::any_of(positions.begin(), positions.end(),
                     [](const auto& position) { return position.second.follows(); });
}

Environment EnvironmentOf(const Workspace& workspace, RunRecorder& recorder, SampleCollector& samples) {
  Environment environment = workspace.environment();
  environment.progress = &recorder;
  environment.watch = &samples;
  return environment;
}

/// True if the same command would fail in the same way, because its message says what to change.
bool FailsAgain(const Status& why) {
  switch (why.code()) {
    case Code::kInvalidArgument:
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
    case Code::kDataLoss:
    case Code::kResourceExhausted:
    case Code::kUnimplemented: return true;
    default: return false;
  }
}

/// Returns the failures that the same command would meet again. `again` is false: the others.
std::vector<UnitFailure> FailuresMet(const RunOutcome& outcome, bool again) {
  std::vector<UnitFailure> found;
  for (const UnitFailure& failure : outcome.failures)
    if (FailsAgain(failure.why) == again) found.push_back(failure);
  return found;
}

/// Executes a planned run on this machine, keeps its record, and prints its outcome.
class RunExecution {
 public:
  /// All arguments outlive it. `file`: the pipeline file as its messages name it.
  RunExecution(const std::string& file, LoadedPipeline& loaded, const PlannedRun& run,
               const RunOptions& options, StatusDisplay& display)
      : file_(file),
        loaded_(loaded),
        run_(run),
        options_(options),
        display_(display),
        recorder_(display),
        environment_(EnvironmentOf(*run.workspace, recorder_, samples_)),
        executor_(loaded.graph, run.plan, run.snapshot, environment_, options) {}

  /// As Executor::Prepare; writes nothing.
  Status Prepare() { return executor_.Prepare(); }

  /// Returns the exit status. `command_line`: how the run was called. Call Prepare before.
  int Run(const std::string& command_line, const SignalWatch& signals) {
    std::optional<Attendance> attendance(std::in_place, signals.token());
    const Status marked = executor_.MarkLocations(signals.token());
    if (!marked.ok()) return signals.exit_code() != 0 ? signals.exit_code() : Refuse(marked);
    KeptRun kept(*run_.workspace, recorder_);
    const Status begun = kept.Begin(command_line, loaded_, run_.plan, run_.snapshot, options_);
    if (!begun.ok()) return Refuse(begun);
    attendance.reset();
    const SignalWatch::Finishing finishing(signals);
    const RunOutcome outcome = Execute(kept.id(), signals);
    for (const std::string& line : FailureLines(FailuresMet(outcome, false))) LogError(line);
    return outcome.status.ok() ? EndDone(outcome, kept) : EndUndone(outcome, kept, command_line, signals);
  }

 private:
  RunOutcome Execute(const std::string& run_id, const SignalWatch& signals) {
    EventFile events(StrCat(run_.workspace->directory().run(run_id), "/", kPluginEventsName), SystemClock());
    loaded_.plugins.StoreWith(environment_.open_store);
    loaded_.plugins.TellTo(events, display_);
    display_.Expect(StageLine(loaded_.spec.stages, loaded_.graph, run_.plan));
    Mutex telling;
    std::set<std::string> told;  // stages whose counts were told
    recorder_.OnStageDone([&](std::string_view stage) {
      const Lock lock(telling);
      for (const std::string& line : CountLines(loaded_.graph, run_.plan, environment_, stage, told))
        LogInfo(line);
    });
    display_.Start();
    if (RemovesOutputs(options_)) RemoveUnneeded(environment_, run_.plan.unneeded, signals.token());
    RunOutcome outcome = executor_.Run(signals.token());
    display_.Stop();
    recorder_.OnStageDone({});
    return outcome;
  }

  int EndDone(const RunOutcome& outcome, KeptRun& kept) {
    kept.End("done", outcome, samples_);
    std::ifstream events(StrCat(run_.workspace->directory().run(kept.id()), "/", kPluginEventsName));
    PrintResults(loaded_.graph, run_.plan, environment_, ReadTrainings(events));
    for (const std::string& line : outcome.faults) PrintLine(line);
    if (run_.plan.left_out.empty()) return kExitDone;
    for (const std::string& left_out : run_.plan.left_out) LogError(StrCat(file_, ": ", left_out));
    return kExitFailed;
  }

  int EndUndone(const RunOutcome& outcome, KeptRun& kept, const std::string& command_line,
                const SignalWatch& signals) {
    const bool cancelled = outcome.status.code() == Code::kCancelled && signals.exit_code() != 0;
    const bool of_run = outcome.lost_lease || (outcome.failures.empty() && !cancelled);
    std::vector<std::string> to_change = FailureLines(FailuresMet(outcome, true));
    if (of_run && FailsAgain(outcome.status) && !outcome.lost_lease)
      to_change.emplace_back(outcome.status.message());
    else if (of_run)
      LogError(outcome.status.message());
    kept.End(cancelled ? "cancelled" : "failed", outcome, samples_);
    const std::string kept_work =
        cancelled ? "stopped; finished units are kept" : "failed; finished work is kept";
    if (to_change.empty())
      LogInfo(StrCat(kept_work, ": `", command_line, "` goes on from there"));
    else
      LogInfo(StrCat(kept_work, ", and `", command_line, "` fails again until this is changed:"));
    for (const std::string& change : to_change) LogError(change);
    if (cancelled) return signals.exit_code();
    const bool taken =
        std::any_of(outcome.failures.begin(), outcome.failures.end(),
                    [](const UnitFailure& failure) { return failure.why.code() == Code::kPreempted; });
    return taken && to_change.empty() ? kExitTryAgain : kExitFailed;
  }

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
