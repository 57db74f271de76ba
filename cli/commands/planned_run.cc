#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/commands/plan_text.h"
#include "cli/commands/run_pipeline.h"
#include "cli/terminal/exit_code.h"
#include "cli/workspace/work_result.h"
#include "cli/workspace/workspace.h"
#include "dag/forecast/forecast.h"
#include "dag/pipeline_file/stage_type.h"
#include "dag/plan/planner.h"
#include "dag/plan/unneeded_outputs.h"
#include "plugins/plugin_view.h"
#include "storage/directory.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Stages whose last line in the log is a failure, each once.
std::vector<std::string> FailedStages(const RunLog& log) {
  std::set<std::string> stages;
  for (const UnitLine* line : log.List(""))
    if (line->state == UnitState::kFailed) stages.insert(line->unit.substr(0, line->unit.find('/')));
  return {stages.begin(), stages.end()};
}

/// Opens the workspace. If the run is no dry run, takes the work results of workers into its log.
Result<std::unique_ptr<Workspace>> OpenWorkspace(const RunRequest& request, const PipelineSpec& spec,
                                                 Progress& progress, std::stop_token stop) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<Workspace> workspace,
      Workspace::Open(
          WorkPlaceOf(request.pipeline, spec),
          request.dry_run ? Workspace::Access::kRead : Workspace::Access::kWrite, progress,
          request.dry_run && !request.ask ? SourceFiles::Network::kOffline : SourceFiles::Network::kMayAsk,
          std::move(stop)));
  if (request.dry_run) return workspace;
  if (const Status taken = TakeBackAny(*workspace); !taken.ok())
    LogWarning(
        StrCat("the results of workers cannot be read (", taken.message(), "); their units may run again"));
  return workspace;
}

/// Prints what the plan reports. False: nothing can run.
bool PrintReports(const std::string& file, const Plan& plan) {
  for (const std::string& report : plan.reports) LogWarning(report);
  for (const std::string& refusal : plan.refusals) LogError(StrCat(file, ": ", refusal));
  if (!plan.refusals.empty()) return false;
  for (const std::string& left_out : plan.left_out) LogError(StrCat(file, ": ", left_out));
  return plan.left_out.empty() || !plan.nothing_to_do();
}

std::uint64_t BytesBelow(const std::string& directory) {
  namespace fs = std::filesystem;
  std::uint64_t bytes = 0;
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(ignored)) bytes += at->file_size(ignored);
  return bytes;
}

/// Warns if the forecast is larger than what is free on a disk; a dry run does no more, because the run may
/// be meant for another machine. kResourceExhausted: even half of what is to be made does not fit. `freed`:
/// what the run removes first from the work directory.
Status CheckDisk(const RunRequest& request, const PlannedRun& run, const Forecast& forecast,
                 std::uint64_t freed) {
  DiskPlaces places;
  places.work = run.workspace->directory().path();
  places.has_intermediates = !IsRemote(run.workspace->home());
  places.is_known = request.pipeline.subset.empty();
  places.same = [](const std::string& one, const std::string& other) {
    const Result<bool> same = SameFileSystem(one, other);
    return !same.ok() || *same;
  };
  places.held = BytesBelow;
  for (const DiskNeed& need : DiskNeedsOf(run.plan, forecast, places)) {
    const Result<std::uint64_t> found = FreeBytes(need.path);
    if (!found.ok()) continue;  // the run tells
    const std::uint64_t free = *found + (need.path == places.work ? freed : 0);
    if (need.bytes <= free) continue;
    const bool is_work = need.path == places.work;
    std::string what = StrCat(need.path, ": this run takes about ", HumanBytes(need.bytes),
                              " there at its peak, and ", HumanBytes(free), " are free; free some, or name ",
                              is_work ? "a larger disk by --work" : "another `out`");
    if (need.least > free && !request.dry_run)
      return Status(
          Code::kResourceExhausted,
          StrCat(what, "; where stages drop most of the text, the `text_size` of the source may say less"));
    LogWarning(what);
  }
  return {};
}

Json AboutRun(const PipelineOptions& options, const Graph& graph, NodeId node) {
  Json about = StageForPlugin(graph, node);
  about["file"] = options.file;
  about["set"] = Json(Json::Object{});
  for (const auto& [name, value] : options.set) about["set"][name] = value;
  return about;
}

Status PrepareStage(const RunRequest& request, const Graph& graph, NodeId node) {
  const StageSpec& spec = *graph[node].spec;
  Status ready;
  const JobKind* const job = spec.type->job();
  if (job != nullptr && job->prepare_run)
    ready = job->prepare_run(spec.config, AboutRun(request.pipeline, graph, node), request.dry_run);
  else if (spec.type->prepare)
    ready = spec.type->prepare(spec.config);
  return std::move(ready).Annotate(StrCat("stage '", spec.name, "'"));
}

}  // namespace

std::variant<PlannedRun, int> PlanRun(const RunRequest& request, LoadedPipeline& loaded, Progress& progress,
                                      const SignalWatch& signals) {
  const WorkPlace place = WorkPlaceOf(request.pipeline, loaded.spec);
  const Status apart = CheckApart(place, loaded.graph);
  if (!apart.ok()) return Refuse(apart);
  const auto nothing_ran = [&] {
    return Refuse(StrCat("nothing ran yet; `pipe run ", request.pipeline.file, "` begins"));
  };
  if (request.only_failed && !place.may_exist()) return nothing_ran();
  Result<std::unique_ptr<Workspace>> workspace =
      OpenWorkspace(request, loaded.spec, progress, signals.token());
  if (!workspace.ok()) return signals.exit_code() != 0 ? signals.exit_code() : Refuse(workspace.status());
  if (!request.dry_run) RemoveLeftBehind(**workspace, loaded.graph);
  Selection selection = request.selection;
  if (request.only_failed) {
    selection.failed = FailedStages((*workspace)->log());
    if (selection.failed.empty() && (*workspace)->log().Runs().empty()) return nothing_ran();
    if (selection.failed.empty())
      return Refuse("nothing failed in the last run; `pipe run` goes on where it was");
  }
  if (request.check) (*workspace)->ReadAllSources();
  Result<Snapshot> snapshot = (*workspace)->TakeSnapshot(loaded.graph, loaded.spec, signals.token());
  if (!snapshot.ok()) return signals.exit_code() != 0 ? signals.exit_code() : Refuse(snapshot.status());
  Result<Plan> plan = MakePlan(loaded.graph, *snapshot, StoredIn((*workspace)->environment()), selection);
  if (!plan.ok()) return Refuse(plan.status());
  if (!PrintReports(request.pipeline.file, *plan)) return kExitRefused;
  return PlannedRun{std::move(*workspace), std::move(*snapshot), std::move(*plan)};
}

Status PrintForecast(const RunRequest& request, const LoadedPipeline& loaded, const PlannedRun& run,
                     const RunOptions& options) {
  const Forecast forecast = ForecastOf(loaded.graph, run.plan, run.snapshot, options);
  if (request.dry_run || request.explain)
    PrintPlan(loaded.graph, run.plan, forecast, request.explain, request.dry_run);
  std::uint64_t removed = 0;
  if (RemovesOutputs(options) && (request.dry_run || !IsRemote(run.workspace->home()))) {
    ASSIGN_OR_RETURN(removed, OutputBytes(run.workspace->environment(), run.plan.unneeded));
    if (request.dry_run && removed > 0)
      std::printf("removes %s of intermediates that nothing unfinished needs\n", HumanBytes(removed).c_str());
  }
  const auto limit = loaded.spec.disk_limit;
  if (!limit || forecast.peak_disk_bytes <= *limit) return CheckDisk(request, run, forecast, removed);
  return Status(Code::kInvalidArgument,
                StrCat("limits.disk of ", HumanBytes(*limit), " is too small: this run takes about ",
                       HumanBytes(forecast.peak_disk_bytes), " at its peak; raise it"));
}

Status PrepareStages(const RunRequest& request, const Graph& graph, const Plan& plan) {
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kWanted || !segment.copy_from.empty()) continue;
    for (const NodeId node : segment.chain) RETURN_IF_ERROR(PrepareStage(request, graph, node));
  }
  return {};
}

}  // namespace pipeline
