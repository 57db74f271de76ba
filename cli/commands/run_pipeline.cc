#include "cli/commands/run_pipeline.h"

#include <set>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "cli/commands/plan_text.h"
#include "cli/live/status_display.h"
#include "cli/report/kept_run.h"
#include "cli/report/sample_collector.h"
#include "cli/terminal/command_line.h"
#include "cli/terminal/event_file.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/refuse.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/threads.h"
#include "cli/workspace/work_result.h"
#include "cli/workspace/workspace.h"
#include "dag/books/unit_id.h"
#include "dag/executor.h"
#include "plugins/plugin_view.h"

namespace pipeline {

namespace {

/// Stages whose last line in the log is a failure, each once.
std::vector<std::string> FailedStages(const RunLog& log) {
  std::set<std::string> stages;
  for (const UnitLine* line : log.List(""))
    if (line->state == UnitState::kFailed) stages.insert(line->unit.substr(0, line->unit.find('/')));
  return {stages.begin(), stages.end()};
}

std::string CommandLineOf(const Call& call) {
  std::vector<std::string> words = call.words;
  words.insert(words.begin(), "pipe");
  return CommandLine(words);
}

RunOptions RunOptionsOf(const RunRequest& options, const PipelineSpec& spec) {
  RunOptions run;
  run.threads = ThreadCount(options.threads);
  run.keep_going = options.keep_going;
  run.memory_bytes = spec.memory_limit;
  run.batch_bytes = options.batch_bytes;
  return run;
}

Json AboutDryRun(const RunRequest& options, const Graph& graph, int node) {
  Json about = StageForPlugin(graph, node);
  about["file"] = options.pipeline.file;
  about["set"] = Json(Json::Object{});
  for (const auto& [name, value] : options.pipeline.set) about["set"][name] = value;
  return about;
}

/// Whether this machine has what the stages that run need; the first that lacks something.
Status PrepareStages(const RunRequest& options, const Graph& graph, const Plan& plan) {
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kWanted || !segment.copy_from.empty()) continue;
    for (const int node : segment.chain) {
      const StageSpec& spec = *graph.nodes()[static_cast<std::size_t>(node)].spec;
      Status ready;
      if (options.dry_run && spec.type->prepare_dry_run)
        ready = spec.type->prepare_dry_run(spec.config, AboutDryRun(options, graph, node));
      else if (spec.type->prepare)
        ready = spec.type->prepare(spec.config);
      RETURN_IF_ERROR(std::move(ready).Annotate(StrCat("stage '", spec.name, "'")));
    }
  }
  return {};
}

}  // namespace

int RunPipeline(const RunRequest& options, const Call& call) {
  SignalWatch signals;
  const std::unique_ptr<LoadedPipeline> loaded =
      LoadPipeline(options.pipeline, options.dry_run ? LoadPurpose::kCheck : LoadPurpose::kRun);
  if (!loaded) return kExitRefused;
  if (options.pipeline.subset.ends_with('%'))
    LogInfo(StrCat("--subset ", options.pipeline.subset,
                   ": all of the corpus is read, and that part of its documents ",
                   "kept; a number, such as --subset 5000, reads no more than the beginning of each file"));
  StatusDisplay display(options.log_format == "json");
  const auto access = options.dry_run ? Workspace::Access::kRead : Workspace::Access::kWrite;
  Result<std::unique_ptr<Workspace>> workspace = Workspace::Open(
      WorkPath(options.pipeline, loaded->spec), access, display,
      options.dry_run && !options.ask ? SourceFiles::Network::kOffline : SourceFiles::Network::kMayAsk);
  if (!workspace.ok()) return Refuse(workspace.status());

  if (access == Workspace::Access::kWrite)
    if (const Status taken = TakeBackAny(**workspace); !taken.ok())
      LogWarning(
          StrCat("what workers did cannot be looked at (", taken.message(), "); it may be done again"));
  Selection selection = options.selection;
  if (options.only_failed) {
    selection.failed = FailedStages((*workspace)->log());
    if (selection.failed.empty()) {
      LogInfo("nothing failed in the last run; `pipe run` goes on where it was");
      return kExitDone;
    }
  }
  const Result<Snapshot> snapshot = (*workspace)->TakeSnapshot(loaded->graph, signals.token());
  if (!snapshot.ok()) return signals.exit_code() != 0 ? signals.exit_code() : Refuse(snapshot.status());
  const Result<Plan> plan = MakePlan(loaded->graph, *snapshot, selection);
  if (!plan.ok()) return Refuse(plan.status());
  for (const std::string& report : plan->reports) LogWarning(report);
  for (const std::string& refusal : plan->refusals) LogError(StrCat(options.pipeline.file, ": ", refusal));
  if (!plan->refusals.empty()) return kExitRefused;
  for (const std::string& left_out : plan->left_out) LogError(StrCat(options.pipeline.file, ": ", left_out));
  if (!plan->left_out.empty() && plan->nothing_to_do()) return kExitRefused;

  const RunOptions run = RunOptionsOf(options, loaded->spec);
  const Forecast forecast = ForecastOf(loaded->graph, *plan, *snapshot, run.threads);
  if (options.dry_run || options.explain)
    PrintPlan(loaded->graph, *plan, forecast, options.explain, options.dry_run);
  if (loaded->spec.disk_limit && forecast.peak_disk_bytes > *loaded->spec.disk_limit)
    return Refuse(
        Status(Code::kInvalidArgument,
               StrCat("limits.disk of ", HumanBytes(*loaded->spec.disk_limit), " cannot hold the about ",
                      HumanBytes(forecast.peak_disk_bytes), " that this run takes at its peak")));
  RunRecorder recorder(display);
  SampleCollector samples;
  Environment environment = (*workspace)->environment();
  environment.progress = &recorder;
  environment.watch = &samples;
  Executor executor(loaded->graph, *plan, *snapshot, environment, run);
  const Status prepared = executor.Prepare();  // before -n ends: it also says whether the limits hold
  if (!prepared.ok()) return Refuse(prepared);
  const Status ready = PrepareStages(options, loaded->graph, *plan);
  if (options.dry_run) {
    if (!ready.ok()) LogWarning(ready.message());
    return kExitDone;
  }
  if (plan->nothing_to_do()) {
    PrintUpToDate(loaded->graph, *plan);
    return kExitDone;
  }

  if (!ready.ok()) return Refuse(ready);
  const Status marked = executor.MarkLocations(signals.token());
  if (!marked.ok()) return signals.exit_code() != 0 ? signals.exit_code() : Refuse(marked);
  KeptRun kept(**workspace, recorder);
  const Status begun = kept.Begin(CommandLineOf(call), *loaded, *plan, *snapshot, run);
  if (!begun.ok()) return Refuse(begun);
  EventFile events(StrCat((*workspace)->directory().run(kept.id()), "/", kPluginEventsName), SystemClock());
  loaded->plugins.StoreWith(environment.open_store);
  loaded->plugins.TellTo(events, display);
  display.Expect(StageLine(loaded->spec.stages, loaded->graph, *plan));
  display.Start();
  const RunOutcome outcome = executor.Run(signals.token());
  display.Stop();

  for (const UnitFailure& failure : outcome.failures)
    LogError(StrCat(failure.unit, ": ", failure.why.message()));
  if (outcome.status.ok()) {
    kept.End("done", outcome, samples);
    PrintResults(loaded->graph, *plan, environment);
    if (plan->left_out.empty()) return kExitDone;
    for (const std::string& left_out : plan->left_out)
      LogError(StrCat(options.pipeline.file, ": ", left_out));
    return kExitFailed;
  }
  const bool cancelled = outcome.status.code() == Code::kCancelled && signals.exit_code() != 0;
  if (outcome.lost_lease || (outcome.failures.empty() && !cancelled)) LogError(outcome.status.message());
  kept.End(cancelled ? "cancelled" : "failed", outcome, samples);
  LogInfo(StrCat(cancelled ? "stopped" : "failed", "; what is finished stands: `", CommandLineOf(call),
                 "` goes on from there"));
  return cancelled ? signals.exit_code() : kExitFailed;
}

}  // namespace pipeline
