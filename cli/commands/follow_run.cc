#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/wait.h"
#include "cli/commands/run_pipeline.h"
#include "cli/live/stage_line.h"
#include "cli/terminal/exit_code.h"
#include "cli/workspace/workspace.h"
#include "dag/plan/planner.h"
#include "dag/run/follower.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kLookAgain{10};
constexpr std::chrono::minutes kMostSilence{30};

/// The plan of one Job on a follower.
struct FollowedPlan {
  Snapshot snapshot;
  Plan plan;
  std::string lack;  // why the Job cannot begin; empty: it can
  bool done = false;
};

/// Names the inputs that the leader has to publish first, or the first refusal.
std::string LackOf(const Plan& plan, const PlannedSegment* job) {
  std::string inputs;
  if (job != nullptr)
    for (const SegmentId need : NeedsOf(*job))
      if (const PlannedSegment& maker = plan.segments[need];
          maker.state == PlannedSegment::State::kNotSelected)
        inputs += StrCat(inputs.empty() ? "" : ", ", "'", maker.keys.stage, "' at ", maker.location);
  if (!inputs.empty()) return StrCat("publishes ", inputs);
  if (!plan.refusals.empty()) return StrCat("resolves this: ", plan.refusals.front());
  if (!plan.left_out.empty()) return StrCat("resolves this: ", plan.left_out.front());
  return {};
}

class Following {
 public:
  Following(const RunRequest& request, LoadedPipeline& loaded, const RunOptions& options,
            StatusDisplay& display, const SignalWatch& signals)
      : request_(request), loaded_(loaded), options_(options), display_(display), signals_(signals) {}

  int Run() {
    for (const NodeId node : loaded_.graph.nodes().ids()) {
      const std::string& stage = loaded_.graph[node].spec->name;
      const auto found = options_.positions.find(stage);
      if (found == options_.positions.end() || !found->second.follows()) continue;
      if (const int code = RunStage(stage, found->second); code != kExitDone) return code;
    }
    return kExitDone;
  }

 private:
  int RunStage(const std::string& stage, const JobPosition& position) {
    LogInfo(StrCat("stage '", stage, "': this is host ", position.host, " of ", position.hosts,
                   "; host 0 runs all other stages, and publishes"));
    Result<std::unique_ptr<Workspace>> workspace =
        Workspace::Follow(WorkPlaceOf(request_.pipeline, loaded_.spec), position.host, display_);
    if (!workspace.ok()) return Refuse(workspace.status());
    loaded_.plugins.StoreWith((*workspace)->environment().open_store);
    loaded_.plugins.ShowNotes(display_);
    std::optional<LeaderWatch> leader;
    std::string said;
    while (true) {
      Result<FollowedPlan> planned = PlanOf(stage, **workspace);
      if (!planned.ok()) return Stopped() ? signals_.exit_code() : Refuse(planned.status());
      if (planned->done) {
        LogInfo(StrCat("stage '", stage, "' is up to date"));
        return kExitDone;
      }
      if (planned->lack.empty()) {
        const Status outcome = RunJob(stage, **workspace, *planned);
        if (outcome.Detail<InputsChanged>() == nullptr) return EndOf(stage, outcome);
        LogInfo(StrCat("stage '", stage, "': ", outcome.message(), "; it is planned again"));
        leader.reset();
        continue;
      }
      if (!leader) leader.emplace(planned->plan, stage, (*workspace)->environment(), SystemClock());
      if (std::string now = StrCat("stage '", stage, "' waits until host 0 ", planned->lack); now != said)
        LogInfo(said = std::move(now));
      if (leader->Silence(signals_.token()) > kMostSilence) {
        LogError(StrCat("stage '", stage, "': host 0 gave no sign of life for ", kMostSilence.count(),
                        " minutes at ", leader->Locations(), "; start `pipe run` on it, then here"));
        return kExitFailed;
      }
      if (!WaitFor(kLookAgain, signals_.token())) return signals_.exit_code();
    }
  }

  Result<FollowedPlan> PlanOf(const std::string& stage, Workspace& workspace) {
    FollowedPlan followed;
    ASSIGN_OR_RETURN(followed.snapshot,
                     workspace.TakeSnapshot(loaded_.graph, loaded_.spec, signals_.token()));
    Selection selection = request_.selection;
    selection.from.clear(), selection.until.clear(), selection.force.clear();
    selection.only = stage;
    ASSIGN_OR_RETURN(followed.plan, MakePlan(loaded_.graph, followed.snapshot,
                                             StoredIn(workspace.environment()), selection));
    const PlannedSegment* const job = FindJob(followed.plan, stage);
    followed.done = job != nullptr && job->state == PlannedSegment::State::kUpToDate;
    followed.lack = LackOf(followed.plan, job);
    if (followed.done || !followed.lack.empty()) return followed;
    ASSIGN_OR_RETURN(const bool begun, LeaderHasBegun(followed.plan, stage, workspace.environment()));
    if (!begun) followed.lack = StrCat("begins at ", job == nullptr ? std::string() : job->location);
    return followed;
  }

  Status RunJob(const std::string& stage, Workspace& workspace, const FollowedPlan& planned) {
    RETURN_IF_ERROR(PrepareStages(request_, loaded_.graph, planned.plan));
    display_.Expect(StageLine(loaded_.spec.stages, loaded_.graph, planned.plan));
    display_.Start();
    const SignalWatch::Finishing finishing(signals_);
    Status outcome =
        FollowJob(loaded_.graph, planned.plan, stage, workspace.environment(), options_, signals_.token());
    display_.Stop();
    return outcome;
  }

  int EndOf(const std::string& stage, const Status& outcome) const {
    if (outcome.ok()) {
      LogInfo(StrCat("stage '", stage, "': host 0 has published it"));
      return kExitDone;
    }
    if (Stopped()) {
      LogInfo("stopped; the same command goes on from there");
      return signals_.exit_code();
    }
    LogError(StrCat("stage '", stage, "': ", outcome.message()));
    return outcome.code() == Code::kPreempted ? kExitTryAgain : kExitFailed;
  }

  bool Stopped() const { return signals_.exit_code() != 0; }

  const RunRequest& request_;
  LoadedPipeline& loaded_;
  const RunOptions& options_;
  StatusDisplay& display_;
  const SignalWatch& signals_;
};

}  // namespace

int FollowRun(const RunRequest& request, LoadedPipeline& loaded, const RunOptions& options,
              StatusDisplay& display, const SignalWatch& signals) {
  return Following(request, loaded, options, display, signals).Run();
}

}  // namespace pipeline
