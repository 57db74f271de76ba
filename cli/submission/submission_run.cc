#include "cli/submission/submission_run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "base/wait.h"
#include "cli/live/status_display.h"
#include "cli/report/workers_run.h"
#include "cli/submission/submission_watch.h"
#include "cli/submit/batch_job.h"
#include "cli/submit/kept_engine.h"
#include "cli/submit/kubernetes_job.h"
#include "cli/submit/slurm_engine.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/refuse.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/threads.h"
#include "cli/worker/planning.h"
#include "cli/worker/worker_options.h"
#include "cli/workspace/workspace.h"
#include "dag/package/submission.h"
#include "dag/package/unit_lease.h"
#include "storage/directory.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr int kWorkers = 4;
constexpr std::chrono::milliseconds kLook{500}, kLongestStart{30'000}, kLongestReport{20'000};
constexpr std::uint64_t kScratch = std::uint64_t{100}
                                   << 30;  // of a container, if the file has no limits.disk
constexpr std::string_view kPackageBelow = "package";
constexpr std::string_view kEngineBelow = "submit";

std::string ThisProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::unique_ptr<Engine> EngineOf(const std::string& name, EngineOptions options) {
  if (name == "slurm") return NewSlurmEngine(std::move(options));
  if (name == "ray") return NewRayEngine(std::move(options));
  return NewLocalEngine(std::move(options));
}

class Submitted {
 public:
  Submitted(const SubmitRequest& request, LoadedPipeline& loaded, std::string text, SignalWatch& signals)
      : signals_(signals), request_(request), loaded_(loaded), text_(std::move(text)) {}

  int Run() {
    if (const Status found = FindPlaces(); !found.ok()) return Refuse(found);
    Result<std::optional<Submission>> before = ReadSubmission(*package_, stop());
    if (!before.ok()) return Refuse(before.status());
    submission_ = std::move(*before);
    if (request_.cancel) return Cancel();
    if (submission_) {
      const Result<bool> attached = Attach();
      if (!attached.ok()) return Refuse(attached.status());
      if (*attached) return Watch();
    }
    if (IsRemote(place_))
      if (const Status may = CheckRights(*package_, place_, stop()); !may.ok()) return Refuse(may);
    if (const std::optional<int> ended = Plan()) return *ended;
    if (!request_.emit.empty()) return Emit();
    if (const Status started = Start(); !started.ok()) return Refuse(started);
    return Watch();
  }

 private:
  std::stop_token stop() const { return signals_.token(); }

  Status FindPlaces() {
    const std::string work = WorkPlaceOf(request_.pipeline, loaded_.spec).home;
    remote_ = IsRemote(work);
    const std::string own =
        remote_ ? StrCat(std::filesystem::current_path().string(), "/.pipe/", loaded_.spec.name)
                : std::filesystem::absolute(work).string();
    place_ = request_.package.empty() ? StrCat(remote_ ? work : own, "/", kPackageBelow) : request_.package;
    ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(place_));
    if (uri.is_local()) place_ = std::filesystem::absolute(uri.path).string();
    if (!request_.emit.empty() && (!remote_ || uri.is_local()))
      return Status(
          Code::kInvalidArgument,
          StrCat(remote_ ? place_ : own, ": machines of --emit ", request_.emit,
                 " do not see this directory; keep the run in a bucket with --work gs://BUCKET/NAME"));
    directory_ = StrCat(own, "/", kEngineBelow);
    ASSIGN_OR_RETURN(package_, OpenStore(place_));
    return {};
  }

  std::unique_ptr<Engine> EngineIn(const std::string& directory, const std::string& name) const {
    EngineOptions options = request_.options;
    options.directory = directory;
    options.everywhere = !remote_;  // a work directory is one that every host sees
    return EngineOf(name, std::move(options));
  }

  std::unique_ptr<Engine> TheirEngine() const {
    return EngineIn(submission_->directory, submission_->engine);
  }

  /// Returns whether workers of an earlier call run this very file. kFailedPrecondition: they run another
  /// one.
  Result<bool> Attach() {
    // Another call is starting the workers, or was killed while it did.
    for (std::chrono::milliseconds waited{0}; submission_->job.empty(); waited += kLook) {
      if (waited >= kLongestStart || !WaitFor(kLook, stop())) break;
      ASSIGN_OR_RETURN(std::optional<Submission> now, ReadSubmission(*package_, stop()));
      if (!now) return false;
      submission_ = std::move(now);
    }
    if (submission_->job.empty()) return false;
    const std::unique_ptr<Engine> engine = TheirEngine();
    Result<EngineState> state = engine->State(submission_->job, stop());
    if (!state.ok()) return std::move(state).status();
    if (state->over) {
      RETURN_IF_ERROR(package_->Remove(kSubmissionName));
      submission_.reset();
      return false;
    }
    if (request_.emit.empty() && request_.engine != submission_->engine)
      return Status(Code::kFailedPrecondition,
                    StrCat(place_, ": ", submission_->engine, " runs the workers (", submission_->job,
                           "); end them with --cancel, or use --on ", submission_->engine));
    ASSIGN_OR_RETURN(const WorkPackage plan, ReadWorkPackage(*package_));
    if (plan.pipeline != text_ || plan.set != request_.pipeline.set ||
        plan.subset != request_.pipeline.subset || plan.until != request_.selection.until)
      return Status(Code::kFailedPrecondition,
                    StrCat(place_, ": ", submission_->engine, " runs an earlier state of ", plan.file, " (",
                           submission_->job, "); end it with `pipe submit --cancel`, then submit again"));
    LogInfo(
        StrCat("attached to ", submission_->engine, " job ", submission_->job, " of ", submission_->host));
    return true;
  }

  /// Absent: there is work for workers.
  std::optional<int> Plan() {
    // The last run may have ended while nobody watched it.
    if (const Result<std::string> page = EndReport(true); page.ok() && !page->empty())
      LogInfo(StrCat("report of the run before: ", *page));
    PlanningRequest planning;
    planning.pipeline = request_.pipeline;
    planning.text = text_;
    planning.directory = std::filesystem::current_path().string();
    planning.selection = request_.selection;
    planning.package = place_;
    planning.threads = ThreadCount();
    planning.anew = true;
    planning.command = request_.command;
    const PlanningOutcome outcome = PlanUnits(planning, loaded_, display_, stop());
    if (!outcome.written.ok()) {
      if (outcome.written.code() == Code::kCancelled && signals_.exit_code() != 0)
        return signals_.exit_code();
      return outcome.told ? kExitRefused : Refuse(outcome.written);
    }
    if (!outcome.offered.empty()) return std::nullopt;
    if (!outcome.run.ok() || !outcome.left_out.empty()) return kExitFailed;
    LogInfo("nothing to do");
    return kExitDone;
  }

  WorkerSet Workers() const {
    const bool here = request_.engine == "local";
    WorkerSet set;
    set.name = loaded_.spec.name;
    set.workers = request_.workers > 0 ? request_.workers : here ? 1 : kWorkers;
    set.cores = request_.cores > 0 ? request_.cores : here ? std::max(1, ThreadCount() / set.workers) : 1;
    set.memory = loaded_.spec.memory_limit + loaded_.spec.memory_limit / 8;  // libraries take some, too
    set.argv = {request_.program.empty() ? ThisProgram() : request_.program,
                "worker",
                "--plan",
                place_,
                "--next",
                "-j",
                std::to_string(set.cores)};
    if (!request_.scratch.empty()) set.argv.insert(set.argv.end(), {"--scratch", request_.scratch});
    if (!request_.most_time.empty()) set.argv.insert(set.argv.end(), {"--for", request_.most_time});
    return set;
  }

  int Emit() {
    WorkerSet set = Workers();
    if (request_.scratch.empty())
      set.argv.insert(set.argv.end(), {"--scratch", std::string(kScratchInContainer)});
    CloudOptions cloud = request_.cloud;
    cloud.scratch = loaded_.spec.disk_limit.value_or(kScratch);
    const std::string text = request_.emit == "batch" ? BatchJob(set, cloud) : KubernetesJob(set, cloud);
    std::fputs(text.c_str(), stdout);
    return kExitDone;
  }

  Status Start() {
    RETURN_IF_ERROR(MakeDirectories(directory_));
    const std::unique_ptr<Engine> engine = EngineIn(directory_, request_.engine);
    // Two calls at once: one of them starts the workers.
    Submission submission{request_.engine, "", directory_, NameOfWorker(), Workers().workers};
    const Condition condition = submission_ ? Condition::ReplaceAny() : Condition::CreateOnly();
    const Status mine =
        WriteObject(*package_, kSubmissionName, EncodeSubmission(submission), condition, stop()).status();
    if (mine.code() == Code::kAlreadyExists)
      return Status(
          Code::kFailedPrecondition,
          StrCat(place_, ": another `pipe submit` starts the workers; call again to attach to them"));
    RETURN_IF_ERROR(mine);
    const Status removed = RemoveLeases();
    Result<std::string> job = removed.ok() ? engine->Start(Workers(), stop()) : Result<std::string>(removed);
    if (!job.ok()) {
      (void)package_->Remove(kSubmissionName);
      return std::move(job).status();
    }
    submission.job = std::move(*job);
    submission_ = submission;
    LogInfo(StrCat(submission.workers, " workers started by ", submission.engine, ", job ", submission.job));
    return WriteObject(*package_, kSubmissionName, EncodeSubmission(submission), Condition::ReplaceAny())
        .status();
  }

  /// No worker runs: new ones need not wait until those of an earlier call count as dead.
  Status RemoveLeases() {
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> leases, package_->List(kUnitLeasePrefix));
    for (const ObjectInfo& lease : leases) RETURN_IF_ERROR(package_->Remove(lease.name));
    return {};
  }

  int Watch() {
    const std::unique_ptr<Engine> engine = TheirEngine();
    if (display_.has_terminal()) display_.Start();
    const Result<WatchOutcome> outcome = WatchRun(*package_, place_, *engine, *submission_, display_, stop());
    display_.Stop();
    if (!outcome.ok() && outcome.status().code() == Code::kCancelled && signals_.exit_code() != 0) {
      LogInfo("the workers go on; the same command attaches to them again, and with --cancel it ends them");
      return signals_.exit_code();
    }
    if (!outcome.ok()) return Refuse(outcome.status());
    if (!outcome->end) {
      (void)package_->Remove(kSubmissionName);
      LogError(StrCat("all workers ended before the run did (", outcome->engine, "); their messages are in ",
                      engine->Messages(), "; the same command continues"));
      return kExitFailed;
    }
    WaitForWorkers(*engine, *submission_, stop());
    (void)engine->Cancel(submission_->job, {});
    (void)package_->Remove(kSubmissionName);
    Report();
    for (const RunEnd::Failure& failure : outcome->end->failures)
      LogError(StrCat(failure.unit.empty() ? "" : StrCat(failure.unit, ": "), failure.why));
    if (!outcome->end->failures.empty()) return kExitFailed;
    LogInfo("everything is done");
    return kExitDone;
  }

  /// Ends the record of the run, which is only for people.
  void Report() {
    for (std::chrono::milliseconds waited{0};; waited += kLook) {
      const Result<std::string> page = EndReport(false);
      if (page.ok() && !page->empty()) LogInfo(StrCat("report: ", *page));
      // A twin of this call may do the same now.
      if (!page.ok() && page.status().code() == Code::kFailedPrecondition && waited < kLongestReport &&
          WaitFor(kLook, stop()))
        continue;
      if (!page.ok()) LogWarning(StrCat("no report of this run: ", page.status().message()));
      return;
    }
  }

  /// Returns the path of the page; empty: workers did no run, or it goes on, or `once` and its record has an
  /// end.
  Result<std::string> EndReport(bool once) {
    ASSIGN_OR_RETURN(const std::optional<WorkersRun> run, ReadWorkersRun(*package_, stop()));
    if (!run || !run->end) return std::string();
    const WorkPlace place = WorkPlaceOf(request_.pipeline, loaded_.spec);
    if (once && !IsRecordOpen(place.directory(), run->id)) return std::string();
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Workspace> workspace,
        Workspace::Open(place, Workspace::Access::kWrite, display_, SourceFiles::Network::kMayAsk, stop()));
    return EndWorkersRun(*workspace, *run);
  }

  int Cancel() {
    if (!submission_) {
      LogInfo(StrCat(place_, ": no workers to end"));
      return kExitDone;
    }
    const Status cancelled =
        submission_->job.empty() ? Status() : TheirEngine()->Cancel(submission_->job, stop());
    if (!cancelled.ok()) return Refuse(cancelled);
    if (const Status removed = package_->Remove(kSubmissionName); !removed.ok()) return Refuse(removed);
    LogInfo(StrCat(submission_->engine, " job ", submission_->job, " was ended; finished work is kept"));
    return kExitDone;
  }

  SignalWatch& signals_;
  const SubmitRequest& request_;
  LoadedPipeline& loaded_;
  const std::string text_;
  StatusDisplay display_{false};
  bool remote_ = false;    // the run has a home in a bucket
  std::string place_;      // location of the work package
  std::string directory_;  // of the engine's files
  std::unique_ptr<Store> package_;
  std::optional<Submission> submission_;  // of an earlier call, or of this one
};

}  // namespace

int SubmitRun(const SubmitRequest& request) {
  SignalWatch signals;
  std::string text;
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(request.pipeline, LoadPurpose::kOffer, &text);
  if (!loaded) return kExitRefused;
  return Submitted(request, *loaded, std::move(text), signals).Run();
}

}  // namespace pipeline
