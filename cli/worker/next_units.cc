#include "cli/worker/next_units.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/enumeration.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/random_name.h"
#include "base/str.h"
#include "base/wait.h"
#include "cli/live/status_display.h"
#include "cli/terminal/exit_code.h"
#include "cli/worker/package_run.h"
#include "cli/worker/planning.h"
#include "cli/workspace/pipeline_words.h"
#include "cli/workspace/work_result.h"
#include "cli/workspace/workspace.h"
#include "dag/books/unit_id.h"
#include "dag/package/unit_queue.h"
#include "storage/store.h"

namespace pipeline {

namespace {

constexpr int kMostTries =
    5;  // that end with "try again", one after the other, before the worker does so, too
constexpr std::chrono::seconds kBetweenTries{2};
constexpr int kMostPlans = 20;  // that this worker makes while no unit is done; then it waits

/// Errors that another try may not have.
bool IsTemporary(const Status& why) {
  return why.code() == Code::kUnavailable || why.code() == Code::kFailedPrecondition ||
         why.code() == Code::kAlreadyExists || why.code() == Code::kResourceExhausted ||
         why.code() == Code::kCancelled;
}

/// Returns "12.3 s".
std::string Seconds(std::chrono::nanoseconds time) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return StrCat(tenths / 10, ".", tenths % 10, " s");
}

QueueTerms TermsOf(const std::string& who, std::chrono::milliseconds every, const WorkerRoom& room) {
  QueueTerms terms;
  terms.lease.nonce = RandomName(32);
  terms.lease.who = who;
  terms.lease.memory = *room.memory;
  terms.seed = std::hash<std::string>()(terms.lease.nonce);
  terms.lease.every = every;
  terms.first_renewal = 2 * every;
  terms.view_age = 20 * every;
  terms.why_unfit = [&room](const OfferedUnit& unit) { return WhyUnfit(unit.needs, room); };
  return terms;
}

class NextUnits {
 public:
  NextUnits(const WorkerOptions& options, SignalWatch& signals, OpenedPackage& opened,
            std::chrono::milliseconds every)
      : options_(options),
        signals_(signals),
        stop_(signals.token()),
        store_(*opened.store),
        loaded_(*opened.loaded),
        scratch_(*opened.scratch),
        room_(opened.room),
        plan_(opened.plan),
        who_(NameOfProcess()),
        most_missing_(6 * every),
        queue_(*opened.store, TermsOf(who_, every, room_), SystemClock()) {}

  int Run() {
    const int code = Loop();
    LogInfo(StrCat("this worker did ", Counted(units_, "unit"), "; ", Seconds(in_units_), " of its ",
                   Seconds(std::chrono::steady_clock::now() - began_), " were theirs"));
    if (const Status left = queue_.Leave(); !left.ok())
      LogWarning(StrCat("the leases of finished units cannot be removed (", left.message(), ")"));
    return code;
  }

 private:
  int Loop() {
    for (;;) {
      if (options_.most_time.count() > 0 && std::chrono::steady_clock::now() - began_ >= options_.most_time) {
        LogInfo("the time of this worker is over; start another one, the run has not ended");
        return kExitTryAgain;
      }
      room_.scratch = scratch_.Room();
      const Result<UnitQueue::Turn> turn = queue_.Next(stop_);
      if (!turn.ok()) return Fail(turn.status());
      const bool works = turn->kind == UnitQueue::Kind::kUnit || turn->kind == UnitQueue::Kind::kPlan;
      if (works && !OfSameState(*queue_.view().package, plan_)) {
        LogInfo(StrCat("another state of ", plan_.file, " was planned; start this worker again"));
        (void)queue_.Release();
        return kExitTryAgain;
      }
      std::optional<int> ended;
      switch (turn->kind) {
        case UnitQueue::Kind::kUnit: ended = RunUnit(turn->unit); break;
        case UnitQueue::Kind::kPlan: ended = MakePlan(); break;
        case UnitQueue::Kind::kWait: Wait(*turn); break;
        case UnitQueue::Kind::kUnfit: return EndUnfit(*turn);
        case UnitQueue::Kind::kEnded: return EndOfRun(*queue_.view().end);
      }
      if (ended) return *ended;
    }
  }

  int Fail(const Status& why) {
    if (why.code() != Code::kCancelled) LogError(why.message());
    return WorkerExitOf(why);
  }

  void Wait(const UnitQueue::Turn& turn) {
    if (!turn.unit.empty() && turn.unit != unfit_) {
      unfit_ = turn.unit;
      LogWarning(WithUnit(StrCat(turn.why, "; it is left to other workers"), turn.unit));
    }
    WaitFor(turn.wait, stop_);
  }

  /// An engine that started this worker again would start it for ever.
  static int EndUnfit(const UnitQueue::Turn& turn) {
    LogError(
        WithUnit(StrCat(turn.why,
                        "; nothing else is left, and no other worker shows a sign of life; give this one "
                        "more, or start a larger one"),
                 turn.unit));
    return kExitConfig;
  }

  static int EndOfRun(const RunEnd& end) {
    for (const std::string& line : FailureLines(end.failures)) LogError(line);
    return end.failures.empty() ? kExitDone : kExitFailed;
  }

  /// Absent: this worker goes on, because the turn could be ended.
  std::optional<int> GoOn(const Status& ended) {
    return ended.ok() ? std::nullopt : std::optional(Fail(ended));
  }

  /// Ends the turn, and this worker if it had too many of them without progress. Absent: it goes on.
  std::optional<int> TryAgain() {
    if (const Status postponed = queue_.Postpone(); !postponed.ok()) return Fail(postponed);
    if (stop_.stop_requested() || ++tries_ >= kMostTries) return kExitTryAgain;
    WaitFor(kBetweenTries, stop_);
    return std::nullopt;
  }

  /// Absent: this worker goes on.
  std::optional<int> RunUnit(const std::string& unit) {
    if (const Status opened = OpenRun(); !opened.ok()) {
      const std::string& plan = queue_.view().version;
      // At first it looks again: another plan may have replaced this one.
      if (opened.Detail<LogIsMissing>() != nullptr && std::exchange(without_log_, plan) == plan) {
        LogWarning(StrCat(opened.message(), "; the run is planned again"));
        return GoOn(queue_.NeedsOtherPlan());
      }
      if (IsTemporary(opened)) return TryAgain();
      (void)queue_.Release();
      return Fail(opened);
    }
    const SignalWatch::Finishing finishing(signals_);
    const auto begun = std::chrono::steady_clock::now();
    const UnitEnd end = run_->Run(
        unit,
        queue_.view().HasBegun(unit) ? PackageRun::Others::kMayHaveBegun : PackageRun::Others::kHaveNotBegun,
        stop_);
    if (end.code == kExitDone) {
      in_units_ += std::chrono::steady_clock::now() - begun;
      ++units_;
      tries_ = 0;
      return GoOn(queue_.Finished());
    }
    if (stop_.stop_requested() || end.code == kExitTryAgain) {
      run_.reset();  // a file may have been replaced
      return TryAgain();
    }
    // This machine is not one for the run, so other workers try the unit.
    if (end.unfit || end.code == kExitPermission || end.code == kExitConfig) {
      (void)queue_.Release();
      return end.code;
    }
    if (end.plan_again) return GoOn(queue_.NeedsPlan());
    const Result<bool> given_up = queue_.Failed(end.code, end.why, stop_);
    if (!given_up.ok()) return Fail(given_up.status());
    if (*given_up) LogError(StrCat(unit, ": is given up after ", kMostAttempts, " attempts; others go on"));
    return std::nullopt;
  }

  /// Opens the present plan.
  Status OpenRun() {
    const PackageView& view = queue_.view();
    if (run_ && version_ == view.version) return {};
    run_.reset();
    ASSIGN_OR_RETURN(
        run_, PackageRun::Open(store_, *view.package, loaded_, scratch_.path(), ThreadCount(options_.threads),
                               *room_.memory, display_, who_, stop_));
    version_ = view.version;
    return {};
  }

  /// Absent: this worker goes on.
  std::optional<int> MakePlan() {
    const WorkPackage& before = *queue_.view().package;
    PlanningRequest request;
    request.pipeline.file = before.file;
    request.pipeline.set = before.set;
    request.pipeline.subset = before.subset;
    // Its log and lock are not those of the units of this worker.
    request.place = WorkPlace{before.work, StrCat(scratch_.path(), "/plan"), 0};
    request.text = before.pipeline;
    request.directory = before.directory;
    request.selection.until = before.until;
    request.selection.from_log = before.from_log;
    request.package = options_.plan;
    request.threads = options_.threads;
    request.present = &before;
    run_.reset();  // there is another plan soon, and both would hold the stages in memory
    const PlanningOutcome planning = PlanUnits(request, loaded_, display_, stop_);
    const bool temporary =
        planning.written.ok()
            ? std::any_of(planning.failures.begin(), planning.failures.end(),
                          [](const UnitFailure& failure) { return IsTemporary(failure.why); })
            : IsTemporary(planning.written);
    std::vector<RunEnd::Failure> failures = FailuresOf(planning);
    // This machine is not one for the run, so other workers plan.
    if (planning.unfit || planning.written.code() == Code::kPermissionDenied) {
      (void)queue_.Release();
      return Fail(planning.written);
    }
    if (!planning.written.ok() && temporary && !OutputIsLost(planning.written)) {
      LogWarning(StrCat("the run cannot be planned now (", planning.written.message(), ")"));
      return TryAgain();
    }
    if (planning.written.ok()) {
      output_missing_.reset();
      const bool goes_on =
          std::any_of(planning.offered.begin(), planning.offered.end(),
                      [this](const OfferedUnit& unit) { return !queue_.view().GaveUp(unit.unit); });
      const bool progress = units_ != units_before_plan_ || planning.added > 0;
      plans_without_units_ = progress ? 0 : plans_without_units_ + 1;
      units_before_plan_ = units_;
      if (goes_on && plans_without_units_ < kMostPlans) {
        tries_ = 0;
        return GoOn(queue_.Release());
      }
      // A refusal that stays is the end: two parties at one location, or a corpus that is too small for a
      // split.
      const bool stays =
          tries_ + 1 >= kMostTries &&
          std::all_of(planning.failures.begin(), planning.failures.end(), [](const UnitFailure& one) {
            return one.why.code() == Code::kFailedPrecondition || !IsTemporary(one.why);
          });
      if (goes_on || (temporary && !stays)) return TryAgain();
    }
    // Workers that died have left leases. A worker that still runs a unit needs its lease no more.
    if (const Status removed = RemoveLeases(); !removed.ok())
      LogWarning(StrCat("leases of units cannot be removed (", removed.message(), ")"));
    const Status written =
        WriteObject(store_, kRunEndName,
                    EncodeVersioned(
                        RunEnd{std::move(failures), planning.nonce.empty() ? before.nonce : planning.nonce}),
                    Condition::ReplaceAny(), stop_)
            .status();
    if (!written.ok()) return Fail(written);
    return GoOn(queue_.Release());
  }

  /// Returns whether the output of a finished unit was missing for so long that it does not come any more.
  bool OutputIsLost(const Status& why) {
    if (why.Detail<OutputIsMissing>() == nullptr) {
      output_missing_.reset();
      return false;
    }
    const auto now = std::chrono::steady_clock::now();
    if (!output_missing_) output_missing_ = now;
    tries_ = 0;  // this bound counts
    return now - *output_missing_ >= most_missing_;
  }

  Status RemoveLeases() {
    ASSIGN_OR_RETURN(std::vector<ObjectInfo> leases, store_.List(kUnitLeasePrefix));
    std::erase_if(leases,
                  [](const ObjectInfo& lease) { return lease.name == ObjectOfLease(kPlanningLease); });
    return RemoveObjects(store_, leases);
  }

  std::vector<RunEnd::Failure> FailuresOf(const PlanningOutcome& planning) const {
    std::vector<RunEnd::Failure> failures;
    if (!planning.written.ok()) failures.push_back({"", std::string(planning.written.message())});
    for (const UnitFailure& failure : planning.failures)
      failures.push_back({failure.unit, std::string(failure.why.message())});
    for (const std::string& left_out : planning.left_out) failures.push_back({"", left_out});
    for (const OfferedUnit& unit : planning.offered) {
      const auto failed = queue_.view().failed.find(unit.unit);
      if (failed == queue_.view().failed.end() || failed->second.attempts.empty()) continue;
      const UnitAttempts::Attempt& last = failed->second.attempts.back();
      failures.push_back({unit.unit, StrCat(last.why, " (", last.who, ")")});
    }
    return failures;
  }

  const WorkerOptions& options_;
  const SignalWatch& signals_;
  const std::stop_token stop_;
  Store& store_;
  LoadedPipeline& loaded_;
  const Scratch& scratch_;
  WorkerRoom room_;
  const WorkPackage& plan_;  // for which the file was loaded
  const std::string who_;
  /// A network file system may show an object a minute late.
  const std::chrono::milliseconds most_missing_;
  std::optional<std::chrono::steady_clock::time_point> output_missing_;  // since when; absent: all are there
  std::string without_log_;  // version of the plan whose log was missing the last time
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  StatusDisplay display_{false};
  UnitQueue queue_;
  std::unique_ptr<PackageRun> run_;  // null: no plan is open
  std::string version_;              // of the plan that is open
  std::string unfit_;                // the last unit that was said not to fit
  int tries_ = 0;                    // without progress, one after the other
  int plans_without_units_ = 0;      // one after the other
  std::size_t units_before_plan_ = 0;
  std::size_t units_ = 0;  // done by this worker
  std::chrono::nanoseconds in_units_{0};
};

}  // namespace

int RunNextUnits(const WorkerOptions& options, SignalWatch& signals) {
  const Result<std::chrono::milliseconds> every = LeasePeriodFromEnvironment();
  if (!every.ok()) {
    LogError(every.status().message());
    return kExitUsage;
  }
  OpenedPackage opened;
  if (const int code = OpenPackage(options, opened, signals.token()); code != kExitDone) return code;
  return NextUnits(options, signals, opened, *every).Run();
}

int RunGivenUnit(const WorkerOptions& options, const std::string& unit, SignalWatch& signals) {
  OpenedPackage opened;
  if (const int code = OpenPackage(options, opened, signals.token()); code != kExitDone) return code;
  StatusDisplay display(false);
  Result<std::unique_ptr<PackageRun>> run = PackageRun::Open(
      *opened.store, opened.plan, *opened.loaded, opened.scratch->path(), ThreadCount(options.threads),
      *opened.room.memory, display, NameOfProcess(), signals.token());
  if (!run.ok()) {
    LogError(run.status().message());
    return WorkerExitOf(run.status());
  }
  const SignalWatch::Finishing finishing(signals);
  if (signals.token().stop_requested()) return kExitTryAgain;
  const auto offered = std::find_if(opened.plan.units.begin(), opened.plan.units.end(),
                                    [&unit](const OfferedUnit& one) { return one.unit == unit; });
  if (offered != opened.plan.units.end())
    if (const std::string why = WhyUnfit(offered->needs, opened.room); !why.empty()) {
      LogError(WithUnit(why, unit));
      return kExitConfig;
    }
  return (*run)->Run(unit, PackageRun::Others::kMayHaveBegun, signals.token()).code;
}

}  // namespace pipeline
