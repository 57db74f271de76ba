#include "cli/submission/submission_run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/attendance.h"
#include "base/clock.h"
#include "base/enumeration.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/str.h"
#include "base/wait.h"
#include "cli/report/workers_run.h"
#include "cli/submit/engine_tool.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/standard_output.h"
#include "cli/worker/planning.h"
#include "cli/workspace/program_places.h"
#include "cli/workspace/workspace.h"
#include "dag/books/unit_id.h"
#include "dag/package/unit_lease.h"
#include "dag/package/unit_queue.h"
#include "storage/directory.h"
#include "storage/remote/open_store.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr int kWorkers = 4;
constexpr std::size_t kMostErrors = 3;  // of workers that ended too early
constexpr std::chrono::milliseconds kLook{500}, kLongestStart{30'000}, kLongestReport{20'000};
constexpr std::uint64_t kScratch = std::uint64_t{100}
                                   << 30;  // of a container, if the file has no limits.disk
constexpr std::string_view kPackageBelow = "package";
constexpr std::string_view kEngineBelow = "submit";

/// Null: there is no engine of that name.
std::unique_ptr<Engine> EngineOf(const std::string& name, EngineOptions options) {
  if (name == "slurm") return NewSlurmEngine(std::move(options));
  if (name == "ray") return NewRayEngine(std::move(options));
  return name == "local" ? NewLocalEngine(std::move(options)) : nullptr;
}

std::uint64_t WithLibraries(std::uint64_t memory) { return memory + memory / 8; }

class Submitted {
 public:
  Submitted(const SubmitRequest& request, LoadedPipeline& loaded, std::string text, SignalWatch& signals)
      : signals_(signals), request_(request), loaded_(loaded), text_(std::move(text)) {}

  int Run() {
    std::optional<Attendance> attendance(std::in_place, stop());
    if (const Status found = FindPlaces(); !found.ok()) return Refuse(found);
    Result<std::optional<Submission>> before = ReadSubmission(*package_, stop());
    if (!before.ok()) return RefuseSubmission(before.status());
    submission_ = std::move(*before);
    if (submission_ && EngineOf(submission_->engine, {}) == nullptr)
      return RefuseSubmission(
          Status(Code::kDataLoss,
                 StrCat(kSubmissionName, ": this program has no engine '", submission_->engine, "'")));
    if (request_.cancel) return Cancel();
    if (submission_) {
      const Result<bool> attached = Attach();
      if (!attached.ok()) return RefuseSubmission(attached.status());
      if (*attached) {
        attendance.reset();
        return Watch();
      }
    }
    if (IsRemote(place_))
      if (const Status may = CheckRights(*package_, place_, stop()); !may.ok()) return Refuse(may);
    attendance.reset();
    if (const std::optional<int> ended = Plan()) {
      if (claimed_) (void)RemoveSubmission(*package_, *submission_);
      return *ended;
    }
    if (!request_.emit.empty()) {
      if (submission_) (void)RemoveSubmission(*package_, *submission_);  // its workers have ended
      return Emit();
    }
    if (const Status started = Start(); !started.ok()) {
      (void)RemoveSubmission(*package_, *submission_);
      return Refuse(started);
    }
    return Watch();
  }

 private:
  std::stop_token stop() const { return signals_.token(); }

  Status FindPlaces() {
    const WorkPlace place = WorkPlaceOf(request_.pipeline, loaded_.spec);
    remote_ = place.is_remote();
    // Each home has its own: two of them may run at once.
    const std::string own = std::filesystem::absolute(place.directory().path()).string();
    place_ =
        request_.package.empty() ? StrCat(remote_ ? place.home : own, "/", kPackageBelow) : request_.package;
    ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(place_));
    if (uri.is_local()) place_ = std::filesystem::absolute(uri.path).string();
    if (!request_.emit.empty() && (!remote_ || uri.is_local()))
      return Status(
          Code::kInvalidArgument,
          StrCat(remote_ ? place_ : own, ": machines of --emit ", request_.emit,
                 " do not see this directory; keep the run in a bucket with --work gs://BUCKET/NAME"));
    directory_ = StrCat(own, "/", kEngineBelow);
    messages_.emplace(directory_);
    ASSIGN_OR_RETURN(package_, OpenStore(place_));
    return {};
  }

  /// Refuses because of submit.json, and says how to go on without it.
  int RefuseSubmission(Status why) const {
    const bool is_elsewhere = why.Detail<OnOtherMachine>() != nullptr;
    if (!is_elsewhere && why.code() != Code::kDataLoss) return Refuse(why);
    std::string words =
        StrCat(why.message(), is_elsewhere ? "; if that machine is gone" : "; if no workers run", ", remove ",
               place_, "/", kSubmissionName, " and call again");
    return Refuse(std::move(why).Reword(std::move(words)));
  }

  /// Returns whether the plan is of the file as this call has it.
  bool IsOurs(const WorkPackage& plan) const {
    return IsOfState(plan, text_, request_.pipeline.set, request_.pipeline.subset, request_.selection.until);
  }

  std::unique_ptr<Engine> TheirEngine() const {
    EngineOptions options = request_.options;
    options.directory = submission_->directory;
    options.everywhere = !remote_;  // a work directory is one that every host sees
    return EngineOf(submission_->engine, std::move(options));
  }

  /// Returns whether workers of an earlier call run this very file. kFailedPrecondition: they run another
  /// one.
  Result<bool> Attach() {
    // Another call is starting the workers, or was killed while it did.
    if (submission_->job.empty())
      LogInfo(StrCat(place_, ": waiting for the call that starts the workers (", submission_->host, ")"));
    for (std::chrono::milliseconds waited{0}; submission_->job.empty(); waited += kLook) {
      if (waited >= kLongestStart || !WaitFor(kLook, stop())) break;
      ASSIGN_OR_RETURN(std::optional<Submission> now, ReadSubmission(*package_, stop()));
      submission_ = std::move(now);
      if (!submission_) return false;
    }
    if (submission_->job.empty()) return false;
    const std::unique_ptr<Engine> engine = TheirEngine();
    Result<EngineState> state = engine->State(submission_->job, stop());
    if (!state.ok()) return std::move(state).status();
    if (state->over) return false;
    if (request_.engine != submission_->engine)
      return Status(Code::kFailedPrecondition,
                    StrCat(place_, ": ", submission_->engine, " runs the workers (", submission_->job,
                           "); end them with --cancel, or use --on ", submission_->engine));
    ASSIGN_OR_RETURN(seen_, LookAt(*package_, nullptr, SystemClock(), stop()));
    const WorkPackage& plan = *seen_->package;
    if (!IsOurs(plan))
      return Status(Code::kFailedPrecondition,
                    StrCat(place_, ": ", submission_->engine, " runs an earlier state of ", plan.file, " (",
                           submission_->job, "); end it with `pipe submit --cancel`, then submit again"));
    LogInfo(
        StrCat("attached to ", submission_->engine, " job ", submission_->job, " of ", submission_->host));
    return true;
  }

  /// Absent: there is work for workers.
  std::optional<int> Plan() {
    PlanningRequest planning;
    planning.pipeline = request_.pipeline;
    planning.text = text_;
    planning.directory = std::filesystem::current_path().string();
    planning.selection = request_.selection;
    planning.package = place_;
    planning.command = request_.command;
    if (request_.emit.empty()) planning.before_writing = [this] { return Claim(); };
    const PlanningOutcome outcome = PlanUnits(planning, loaded_, display_, stop());
    if (!outcome.written.ok()) {
      if (outcome.written.code() == Code::kCancelled && signals_.exit_code() != 0)
        return signals_.exit_code();
      return outcome.told ? kExitRefused : Refuse(outcome.written);
    }
    needs_ = outcome.needs;
    begins_ = outcome.begins;
    for (const OfferedUnit& unit : outcome.offered) offered_.insert(unit.unit);
    // All workers are alike, so none of them would ever take such a unit.
    if (!outcome.offered.empty() && request_.memory > 0 && request_.memory < needs_.memory)
      return Refuse(Status(Code::kInvalidArgument, StrCat("--memory ", HumanBytes(request_.memory),
                                                          ": the largest unit of this run needs ",
                                                          HumanBytes(needs_.memory), " at least")));
    if (!outcome.offered.empty()) return std::nullopt;
    if (!outcome.run.ok() || !outcome.left_out.empty()) return kExitFailed;
    LogInfo("nothing to do");
    return kExitDone;
  }

  /// The memory of the largest worker, for a unit and for the programs that it starts.
  std::uint64_t MostMemory() const {
    return request_.memory > 0 ? request_.memory : loaded_.spec.memory_limit;
  }

  WorkerSet Workers() const {
    const bool here = request_.engine == "local";
    WorkerSet set;
    set.name = loaded_.spec.name;
    set.workers = request_.workers > 0 ? request_.workers : here ? 1 : kWorkers;
    set.cores = request_.cores > 0 ? request_.cores : here ? std::max(1, ThreadCount() / set.workers) : 1;
    const std::uint64_t limit = MostMemory();
    set.memory = WithLibraries(limit);
    // Models that do not exist yet are not in the needs, and with more than the least the units are faster.
    if (request_.engine == "slurm" && request_.memory == 0 && !needs_.programs && 2 * needs_.memory < limit) {
      set.memory = WithLibraries(2 * needs_.memory);
      if (needs_.jobs) set.most_memory = WithLibraries(limit);
    }
    const std::string usual = request_.emit.empty() ? ProgramPath() : std::string(kProgramInContainer);
    set.argv = {request_.program.empty() ? usual : request_.program,
                "worker",
                "--plan",
                place_,
                "--next",
                "-j",
                std::to_string(set.cores)};
    if (request_.memory > 0) set.argv.insert(set.argv.end(), {"--memory", std::to_string(request_.memory)});
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
    return PrintText(request_.emit == "batch" ? BatchJob(set, cloud) : KubernetesJob(set, cloud));
  }

  /// Two calls at once: one of them plans and starts the workers, perhaps of another state of the file.
  Status Claim() {
    Submission mine{request_.engine,   "",
                    directory_,        NameOfProcess(),
                    Workers().workers, std::min(MostMemory(), loaded_.spec.memory_limit)};
    if (submission_) mine.version = submission_->version;
    const Status written = WriteSubmission(*package_, mine, stop());
    if (written.code() == Code::kFailedPrecondition)
      return Status(
          Code::kFailedPrecondition,
          StrCat(place_, ": another `pipe submit` starts the workers; call again to attach to them"));
    RETURN_IF_ERROR(written);
    submission_ = std::move(mine);
    claimed_ = true;
    return {};
  }

  Status Start() {
    RETURN_IF_ERROR(MakeDirectories(directory_));
    // Workers that nobody knows of would go on.
    const SignalWatch::Finishing finishing(signals_);
    const std::unique_ptr<Engine> engine = TheirEngine();
    RETURN_IF_ERROR(RemoveLeases());
    ASSIGN_OR_RETURN(submission_->job, engine->Start(Workers(), stop()));
    Status written = WriteSubmission(*package_, *submission_, {});
    if (!written.ok()) {
      (void)engine->Cancel(submission_->job, {});
      if (written.code() == Code::kFailedPrecondition)
        written = Status(Code::kFailedPrecondition,
                         StrCat(place_, ": another call ended this submission; its workers were ended, too"));
      return written;
    }
    LogInfo(StrCat(Counted(submission_->workers, "worker"), " started by ", submission_->engine, ", job ",
                   submission_->job));
    return {};
  }

  /// New workers need not wait until those of an earlier call count as dead. But one on a host that was cut
  /// off may come back, with an old view of the same run: it must still meet the leases of units that are
  /// done.
  Status RemoveLeases() {
    ASSIGN_OR_RETURN(std::vector<ObjectInfo> leases, package_->List(kUnitLeasePrefix));
    std::set<std::string> open = {ObjectOfLease(kPlanningLease)};
    for (const std::string& unit : offered_)
      open.insert({ObjectOfLease(unit), ObjectOfLease(StrCat(unit, kSecondLease))});
    if (!begins_) std::erase_if(leases, [&](const ObjectInfo& lease) { return !open.contains(lease.name); });
    return RemoveObjects(*package_, leases);
  }

  int Watch() {
    const std::unique_ptr<Engine> engine = TheirEngine();
    if (display_.has_terminal()) display_.Start();
    const Result<WatchOutcome> outcome =
        WatchRun(*package_, place_, seen_ ? &*seen_ : nullptr, *engine, *submission_, display_, stop());
    display_.Stop();
    if (!outcome.ok() && outcome.status().code() == Code::kCancelled && signals_.exit_code() != 0) {
      LogInfo("the workers go on; the same command attaches to them again, and with --cancel it ends them");
      return signals_.exit_code();
    }
    if (!outcome.ok()) return Refuse(outcome.status());
    if (!outcome->ended) {
      (void)RemoveSubmission(*package_, *submission_);
      const Result<SeenUnitLease> planning =
          ReadUnitLease(*package_, ObjectInfo::Any(ObjectOfLease(kPlanningLease)), stop());
      if (const std::string why = planning.ok() ? WhyNobodyPlans(*planning) : ""; !why.empty()) LogError(why);
      for (const std::string& error : messages_->LastErrors(kMostErrors))
        LogError(StrCat("a worker said: ", error));
      LogError(StrCat("all workers ended before the run did (", outcome->engine, "); their messages are in ",
                      engine->Messages(), "; the same command continues"));
      return kExitFailed;
    }
    WaitForWorkers(*engine, *submission_, stop());
    (void)engine->Cancel(submission_->job, {});
    (void)RemoveSubmission(*package_, *submission_);
    const WorkPackage& plan = *outcome->ended->package;
    Report(*outcome->ended);
    if (!IsOurs(plan)) {
      LogError(StrCat(place_, ": another command planned another state of ", plan.file,
                      " here, and that one has ended; the same command continues with this one"));
      return kExitFailed;
    }
    for (const std::string& line : FailureLines(outcome->ended->end->failures)) LogError(line);
    if (!outcome->ended->end->failures.empty()) return kExitFailed;
    LogInfo("everything is done");
    return kExitDone;
  }

  /// Ends the record of the run, which is only for people.
  void Report(const PackageView& seen) {
    for (std::chrono::milliseconds waited{0};; waited += kLook) {
      const Result<std::string> page = EndReport(seen);
      if (page.ok() && !page->empty()) LogInfo(StrCat("report: ", *page));
      // A twin of this call may do the same now.
      if (!page.ok() && page.status().code() == Code::kFailedPrecondition && waited < kLongestReport &&
          WaitFor(kLook, stop()))
        continue;
      if (!page.ok()) LogWarning(StrCat("no report of this run: ", page.status().message()));
      return;
    }
  }

  /// Returns the path of the page; empty: workers did no run, or it goes on.
  Result<std::string> EndReport(const PackageView& seen) {
    ASSIGN_OR_RETURN(const std::optional<WorkersRun> run, ReadWorkersRun(*package_, &seen, stop()));
    if (!run || !run->end) return std::string();
    const WorkPlace place = WorkPlaceOf(request_.pipeline, loaded_.spec);
    ASSIGN_OR_RETURN(
        const std::unique_ptr<Workspace> workspace,
        Workspace::Open(place, Workspace::Access::kWrite, display_, SourceFiles::Network::kMayAsk, stop()));
    return EndWorkersRun(*workspace, *run);
  }

  int Cancel() {
    if (!submission_) {
      LogInfo(StrCat(place_, ": no workers to end"));
      return kExitRefused;
    }
    const Status cancelled =
        submission_->job.empty() ? Status() : TheirEngine()->Cancel(submission_->job, stop());
    if (!cancelled.ok()) return RefuseSubmission(cancelled);
    if (const Status removed = RemoveSubmission(*package_, *submission_); !removed.ok())
      return Refuse(removed);
    LogInfo(StrCat(submission_->engine, " job ", submission_->job, " was ended; finished work is kept"));
    return kExitDone;
  }

  SignalWatch& signals_;
  const SubmitRequest& request_;
  LoadedPipeline& loaded_;
  const std::string text_;
  StatusDisplay display_{false};
  bool remote_ = false;                     // the run has a home in a bucket
  std::string place_;                       // location of the work package
  std::string directory_;                   // of the engine's files
  std::optional<WorkerMessages> messages_;  // there
  std::unique_ptr<Store> package_;
  std::optional<Submission> submission_;  // of an earlier call, or of this one
  bool claimed_ = false;                  // it is of this call
  std::optional<PackageView> seen_;       // when this call attached; absent: it starts the workers
  // As planned by this call:
  StageNeeds needs_;
  bool begins_ = false;            // another run than the plan before
  std::set<std::string> offered_;  // units
};

}  // namespace

int SubmitRun(const SubmitRequest& request) {
  SignalWatch signals;
  std::string text;
  const std::unique_ptr<LoadedPipeline> loaded =
      LoadPipeline(request.pipeline, LoadPurpose::kOffer, &text, request.selection.until);
  if (!loaded) return kExitRefused;
  return Submitted(request, *loaded, std::move(text), signals).Run();
}

}  // namespace pipeline
