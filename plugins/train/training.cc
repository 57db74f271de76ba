#include "plugins/train/training.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "base/wait.h"
#include "plugins/train/attempt_runner.h"
#include "plugins/train/copied_checkpoints.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/event_journal.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/hosts/host_card.h"
#include "plugins/train/hosts/restart_policy.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/input_check.h"
#include "plugins/train/object_files.h"
#include "plugins/train/other_trainings.h"
#include "plugins/train/preemption_notice.h"
#include "plugins/train/prepared_training.h"
#include "plugins/train/progress_reporter.h"
#include "plugins/train/slice/own_address.h"
#include "plugins/train/slice/shared_location.h"
#include "plugins/train/slice/training_on_hosts.h"

namespace pipeline {

namespace {

using std::chrono::milliseconds;

constexpr const char* kTaking = "taking.json";  // while checkpoints of another training are copied
constexpr std::size_t kShownTrainerLines = 20;  // of the trainer's last words, for who looks on

/// One training with its location, its directory and its inputs, on one host or on one of several.
class Training {
 public:
  /// `job` and `call` outlive it; the inputs of `job` get their local names when they are downloaded.
  Training(TrainJob& job, const PluginServices& call, const TrainInputs& inputs,
           const RunDirectory& directory)
      : training_{.job = job, .call = call, .inputs = inputs, .directory = directory},
        reporter_(call, job.steps()) {
    if (job.run_dir != job.run_uri) training_.bucket = &bucket_.emplace(job, directory, call);
  }

  Result<Json> Run(const HostTiming& timing) {
    bool good = true;  // the directory, to go on in
    if (bucket_) {
      ASSIGN_OR_RETURN(const auto published, bucket_->FindPublished(JobFile(job_, inputs_)));
      if (published) {
        Standing(job_.run_uri);
        return training_.leads() ? AnswerOf(published->result, published->objects) : Json(Json::Object{});
      }
    }
    if (job_.position.hosts > 1) return RunOnHosts(timing);
    if (bucket_) {
      ASSIGN_OR_RETURN(good, bucket_->LocalIsGood());
    }
    if (!bucket_) RETURN_IF_ERROR(InstallWhatIsDone());
    const bool stands = good && Stands();
    if (stands)
      Standing(job_.run_dir);
    else
      RETURN_IF_ERROR(Train(good));
    if (bucket_ && stands) {
      RETURN_IF_ERROR(bucket_->BeginMirror());
      RETURN_IF_ERROR(bucket_->FinishMirror());
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> objects, directory_.Objects());
    if (bucket_) RETURN_IF_ERROR(bucket_->Publish(objects, JobFile(job_, inputs_)));
    return AnswerOf(directory_.Read("result.json"), objects);
  }

 private:
  void Standing(const std::string& place) const {
    call_.log(Level::kInfo, StrCat(job_.stage, ": ", place, " holds the steps that are asked for already"));
  }

  /// Returns true if an earlier run left everything that the job wants.
  bool Stands() const {
    const Json before = directory_.Read("job.json"), now = JobFile(job_, inputs_);
    // With more or fewer steps it might have stopped elsewhere.
    const bool may_stop_early = job_.may_stop_early() && before["steps"] == now["steps"];
    return directory_.CheckResult(job_.steps(), may_stop_early).ok() &&
           WithoutExtent(before) == WithoutExtent(now);
  }

  /// A longer training was done, and the program ended before its result had replaced the finished one.
  Status InstallWhatIsDone() {
    RETURN_IF_ERROR(directory_.EndInstall());
    const Json done = directory_.NewJob(job_.steps());
    if (!done.is_object() || WithoutExtent(done) != WithoutExtent(JobFile(job_, inputs_))) return {};
    RETURN_IF_ERROR(call_.Withdraw());
    return directory_.InstallResult();
  }

  /// Finds the trainer, and brings the inputs here.
  Status Prepare() {
    if (IsExternal(job_.settings)) {
      ASSIGN_OR_RETURN(training_.external, ExternalTraining::Make(job_, directory_, call_));
    } else {
      ASSIGN_OR_RETURN(training_.python, FindPython(job_.environment()));
    }
    if (training_.leads()) reporter_.Note(inputs_.Describe());
    ASSIGN_OR_RETURN(training_.rows, BringInputs(training_.job, call_));
    return training_.rows && training_.external ? training_.rows->CheckWhole() : Status();
  }

  void TellDirectory() { reporter_.Note(StrCat("logs, events and TensorBoard files are in ", job_.run_dir)); }

  /// After the last attempt: reports about the rows, and leaves them to other runs.
  void LeaveRows() {
    if (!training_.rows) return;
    EventJournal(directory_.Path("events.jsonl"), call_)
        .Keep(training_.rows->Report(), SystemClock().Monotonic());
    training_.rows.reset();
  }

  Result<Json> RunOnHosts(const HostTiming& timing) {
    RETURN_IF_ERROR(Prepare());
    if (training_.leads()) {
      RETURN_IF_ERROR(CheckBeginning());
      RETURN_IF_ERROR(CheckExportOnHosts());
    }
    if (training_.rows && training_.leads()) training_.rows->BeginChecksums();
    TellDirectory();
    Result<Json> answer = TrainOnHosts(training_, timing);
    LeaveRows();
    return answer;
  }

  Status Train(bool good) {
    RETURN_IF_ERROR(Prepare());
    if (training_.rows && !training_.rows->blocks_directory().empty()) {
      training_.rows->BeginChecksums();
      RETURN_IF_ERROR(training_.rows->AwaitChecksums());
    }
    if (!bucket_) RETURN_IF_ERROR(TakeBucketForm(directory_, call_));
    if (!good) RETURN_IF_ERROR(bucket_->Restore());
    RETURN_IF_ERROR(CheckBeginning());
    ASSIGN_OR_RETURN(const bool exports, TakeModel());
    if (!exports) TellOthers();
    if (bucket_) {
      TellDirectory();
      RETURN_IF_ERROR(bucket_->BeginJournal(JobFile(job_, inputs_)));
      RETURN_IF_ERROR(bucket_->BeginMirror());
    }
    reporter_.Hear(
        Json(Json::Object{{"kind", "phase"}, {"name", "init"}}));  // it takes a while to say so itself
    Status ran = RunAttempts();
    LeaveRows();
    if (!bucket_) return ran;
    // The progress is worth keeping after any kind of end.
    Status mirrored = bucket_->FinishMirror();
    bucket_->FinishJournal(mirrored.ok() || !call_.stopped());
    return ran.ok() ? mirrored : ran;
  }

  /// A training that would begin at step 0 replaces no finished model unasked.
  Status CheckBeginning() {
    const bool alone = job_.position.hosts == 1;
    if (call_.forced || training_.external) return {};
    if (alone && !StepsBelow(directory_.Path("checkpoints")).empty()) return {};
    Json result = directory_.Read("result.json");
    if (bucket_) {
      ASSIGN_OR_RETURN(const bool there, bucket_->HasCheckpoint());
      if (there) return {};
      ASSIGN_OR_RETURN(result, bucket_->ReadResult());
    }
    if (!StepsOf(result).is_int()) return {};
    return NoBeginningBeside(job_, StepsOf(result).AsInt());
  }

  /// A training that differs from a finished one in its export alone takes that one's checkpoints.
  Result<bool> TakeModel() {
    const bool taking = directory_.Read(kTaking).is_object();  // a kill has cut it off
    if (training_.external || (!taking && !StepsBelow(directory_.Path("checkpoints")).empty())) return false;
    ASSIGN_OR_RETURN(const std::optional<FinishedTraining> other, ToExport());
    bool took = false;
    if (other) {
      RETURN_IF_ERROR(directory_.Write(kTaking, Json::Object{{"from", other->uri}}));
      ASSIGN_OR_RETURN(took,
                       bucket_ ? bucket_->TakeFrom(other->uri, other->steps)
                               : BringFromRun(other->uri, other->steps, Beside::kPinned, directory_, call_));
    }
    if (took) {
      // In a bucket, the list of the newest checkpoint has it.
      Json best = directory_.Read(StrCat("checkpoints/", other->steps, ".json"))["best"];
      const Result<Json> there = ReadJson(*call_.storage, other->uri + "/best.json");
      if (there.ok() && there->is_object()) best = *there;
      if (best.is_object()) RETURN_IF_ERROR(directory_.Write("best.json", best));
      call_.log(Level::kInfo,
                StrCat(job_.stage, ": goes on from the checkpoint at step ", other->steps, " of ", other->uri,
                       ", from which it differs in its export alone (", other->differences, ")"));
    } else if (taking || other) {
      RETURN_IF_ERROR(RemoveAll(directory_.Path("checkpoints")));  // only some of them were copied
    }
    RETURN_IF_ERROR(directory_.Remove(kTaking));
    return took;
  }

  Result<std::optional<FinishedTraining>> ToExport() const {
    return TrainingToExport(job_.run_uri, JobFile(job_, inputs_), *call_.storage);
  }

  /// Several hosts would train a model anew for another export.
  Status CheckExportOnHosts() {
    if (training_.external || call_.forced) return {};
    ASSIGN_OR_RETURN(const bool there, bucket_->HasCheckpoint());
    if (there) return {};
    ASSIGN_OR_RETURN(const std::optional<FinishedTraining> other, ToExport());
    if (!other) return {};
    return Status(
        Code::kFailedPrecondition,
        StrCat(other->uri, ": is a finished training that differs in its export alone (", other->differences,
               "); one host exports that model without a training, several hosts would train "
               "anew: run it on one host, or take --force ",
               job_.stage));
  }

  /// A training that begins beside others names the one that a person may miss.
  void TellOthers() const {
    if (!StepsBelow(directory_.Path("checkpoints")).empty()) return;
    const std::string other = TrainingBeside(job_.run_dir, JobFile(job_, inputs_));
    if (!other.empty()) call_.log(Level::kInfo, StrCat(job_.stage, ": ", other));
  }

  /// The attempts of a training on one host.
  Status RunAttempts() {
    const PreemptionNotice notice([this](std::string_view path) { return call_.Metadata(path); });
    AttemptRunner runner(job_, call_, directory_);
    // A finished result has fewer steps: it stays until the longer one is there. In a bucket, it is there.
    const bool finished = !bucket_ && directory_.HasResult();
    if (!bucket_ && !finished) RETURN_IF_ERROR(call_.Withdraw());
    RETURN_IF_ERROR(directory_.BeginResult(JobAfter(directory_.Read("job.json")), finished));
    RestartPolicy policy(job_.restarts(), job_.processes() > 1);
    while (true) {
      ASSIGN_OR_RETURN(const TrainerEnd end, RunAttempt(runner, notice));
      const RestartDecision decision = policy.Decide(end);
      if (decision.kind == RestartDecision::Kind::kDone) {
        if (finished) RETURN_IF_ERROR(call_.Withdraw());
        return directory_.InstallResult();
      }
      if (decision.kind == RestartDecision::Kind::kStopped && call_.stopped())
        return {Code::kCancelled, "stopped"};
      // The machine is about to be taken; the checkpoint is complete.
      if (decision.kind == RestartDecision::Kind::kStopped)
        return {Code::kPreempted,
                StrCat(notice.why(), "; the same command goes on from the last checkpoint")};
      if (decision.kind == RestartDecision::Kind::kFail) return Failure(decision, runner);
      const auto wait = milliseconds(
          static_cast<std::int64_t>(job_.patience() * static_cast<double>(decision.wait.count())));
      const std::string soon =
          decision.wait.count() == 0 ? "" : StrCat(" in ", (wait.count() + 999) / 1000, " s");
      call_.log(Level::kWarning, StrCat(decision.why, "; starting it again", soon));
      if (!WaitFor(wait, call_.stop)) return {Code::kCancelled, "stopped"};
    }
  }

  /// Returns the job with the `steps` of the first job in this directory: checkpoints of earlier versions do
  /// not say for how many steps they were made.
  Json JobAfter(const Json& before) const {
    Json job = JobFile(job_, inputs_);
    const Json& steps = before.Has("steps_before") ? before["steps_before"] : before["steps"];
    if (steps.is_int()) job["steps_before"] = steps;
    return job;
  }

  Result<TrainerEnd> RunAttempt(AttemptRunner& runner, const PreemptionNotice& notice) {
    RowSupply* const rows = training_.rows.get();
    AttemptStart start;
    start.number = directory_.NextAttempt();
    if (job_.processes() > 1) {
      ASSIGN_OR_RETURN(const int port, FreePort(true));
      start.coordinator = WithPort("127.0.0.1", port);
    }
    start.wish = [&] { return call_.stopped() || notice.noticed() ? Wish::kStop : Wish::kGoOn; };
    if (rows != nullptr) {
      RETURN_IF_ERROR(rows->BeginAttempt([this] { return call_.stopped(); }));
      start.blocks = rows->blocks_directory();
    }
    start.hear = [this, rows](const Json& event) {
      if (rows != nullptr && event["kind"].AsString() == "rows") rows->Hear(event);
      if (bucket_ && event["worker"].AsInt() == 0) bucket_->Hear(event);
    };
    if (!training_.external) return runner.Run(training_.python, start);
    ASSIGN_OR_RETURN(start.program, training_.external->Begin(start.number));
    ASSIGN_OR_RETURN(TrainerEnd end, runner.Run({}, start));
    return training_.external->Judge(std::move(end));
  }

  Status Failure(const RestartDecision& decision, const AttemptRunner& runner) const {
    const std::vector<std::string>& tail = runner.tail();
    const std::size_t shown = std::min(tail.size(), kShownTrainerLines);
    for (std::size_t at = tail.size() - shown; at < tail.size(); ++at)
      call_.log(Level::kInfo, StrCat("| ", tail[at]));
    return Status(decision.code, StrCat(decision.why, "; its whole output: ", runner.log()));
  }

  std::optional<BucketRun> bucket_;  // absent where the run directory is the place of the run
  PreparedTraining training_;
  const TrainJob& job_ = training_.job;
  const PluginServices& call_ = training_.call;
  const TrainInputs& inputs_ = training_.inputs;
  const RunDirectory& directory_ = training_.directory;
  ProgressReporter reporter_;
};

/// The location is one that all hosts share.
Status CheckLocation(const TrainJob& job) {
  RETURN_IF_ERROR(CheckSharedLocation(job.run_uri, job.position));
  if (!job.settings["shared"].AsBool() || !IsElsewhere(job.run_uri)) return {};
  return Status(Code::kInvalidArgument,
                StrCat("shared: ", job.run_uri,
                       " is in a bucket, and {run_dir} of all hosts is a directory; "
                       "name a directory that all of them see as `out`, or leave `shared` out"));
}

/// A directory in which several hosts have trained holds checkpoints as a bucket does, so a run directory
/// elsewhere mirrors it.
Status KeepApart(TrainJob& job) {
  std::error_code error;
  if (job.run_dir != job.run_uri || !std::filesystem::exists(StrCat(job.run_uri, "/", AttemptName(1)), error))
    return {};
  if (job.kept.empty())
    return Status(Code::kUnimplemented,
                  StrCat(job.run_uri,
                         ": several hosts have trained here, and this program gives no directory for "
                         "copies of their checkpoints; take a newer program"));
  job.run_dir = KeptRun(job);
  return {};
}

}  // namespace

Result<Json> Train(TrainJob job, const HostTiming& timing, const PluginServices& call) {
  RETURN_IF_ERROR(job.position.hosts > 1 ? CheckLocation(job) : KeepApart(job));
  const ReadWhole read = ReaderOf(*call.storage);
  ASSIGN_OR_RETURN(TrainInputs inputs, CheckTrainInputs(job, read));
  ResolveEpochs(job, inputs);
  ASSIGN_OR_RETURN(const RunDirectory directory, RunDirectory::Open(job.run_dir));
  return Training(job, call, inputs, directory).Run(timing);
}

}  // namespace pipeline
