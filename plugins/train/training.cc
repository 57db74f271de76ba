#include "plugins/train/training.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "plugins/train/attempt_runner.h"
#include "plugins/train/bucket_run.h"
#include "plugins/train/event_journal.h"
#include "plugins/train/external/external_settings.h"
#include "plugins/train/external/external_training.h"
#include "plugins/train/hosts/attempt_record.h"
#include "plugins/train/hosts/restart_policy.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/input_check.h"
#include "plugins/train/preemption_notice.h"
#include "plugins/train/progress_reporter.h"
#include "plugins/train/rows/row_supply.h"
#include "plugins/train/run_directory.h"
#include "plugins/train/slice/own_address.h"
#include "plugins/train/trainer_environment.h"

namespace pipeline {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kShownTrainerLines = 20;  // of the trainer's last words, for who looks on

class TrainingRun {
 public:
  /// All arguments outlive it; `bucket` is null if the run directory is the location of the run.
  TrainingRun(const TrainJob& job, const HostCall& call, const RunDirectory& directory, BucketRun* bucket,
              const TrainInputs& inputs)
      : job_(job),
        call_(call),
        directory_(directory),
        bucket_(bucket),
        inputs_(inputs),
        runner_(job, call, directory) {}

  /// Returns true if an earlier run left everything that the job wants.
  bool Stands() const {
    const Json before = directory_.Read("job.json"), now = JobFile(job_, inputs_);
    // With more or fewer steps it might have stopped elsewhere.
    const bool may_stop_early = job_.stops_early() && before["steps"] == now["steps"];
    return directory_.CheckResult(job_.steps(), may_stop_early).ok() &&
           WithoutExtent(before) == WithoutExtent(now);
  }

  /// The trainer of a run: the Python of the bundled one, or another program.
  struct Trainer {
    std::string python;
    std::unique_ptr<ExternalTraining> external;  // null: the bundled one
  };

  /// `rows` is null if they are on this machine anyway.
  Status Run(const Trainer& trainer, const PreemptionNotice& notice, RowSupply* rows) {
    // The existing result has fewer steps: only this training's own result may count.
    RETURN_IF_ERROR(directory_.Remove("result.json"));
    RETURN_IF_ERROR(directory_.Write("job.json", JobAfter(directory_.Read("job.json"))));
    RestartPolicy policy(job_.restarts(), job_.processes() > 1);
    while (true) {
      ASSIGN_OR_RETURN(const TrainerEnd end, RunAttempt(trainer, notice, rows));
      const RestartDecision decision = policy.Decide(end);
      if (decision.kind == RestartDecision::Kind::kDone) return {};
      if (decision.kind == RestartDecision::Kind::kStopped)
        return call_.stopped() ? Status(Code::kCancelled, "stopped") : Taken(notice);
      if (decision.kind == RestartDecision::Kind::kFail) return Failure(decision);
      call_.Log(Level::kWarning, StrCat(decision.why, "; starting it again", Wait(decision.wait)));
      if (!Pause(decision.wait)) return {Code::kCancelled, "stopped"};
    }
  }

 private:
  /// Returns the job with the `steps` of the first job in this directory: checkpoints of earlier versions do
  /// not say for how many steps they were made.
  Json JobAfter(const Json& before) const {
    Json job = JobFile(job_, inputs_);
    const Json& steps = before.Has("steps_before") ? before["steps_before"] : before["steps"];
    if (steps.is_int()) job["steps_before"] = steps;
    return job;
  }

  Result<TrainerEnd> RunAttempt(const Trainer& trainer, const PreemptionNotice& notice, RowSupply* rows) {
    AttemptStart start;
    start.number = directory_.NextAttempt();
    if (job_.processes() > 1) {
      ASSIGN_OR_RETURN(const int port, FreePort(true));
      start.coordinator = WithPort("127.0.0.1", port);
    }
    start.wish = [this, &notice] { return call_.stopped() || notice.noticed() ? Wish::kStop : Wish::kGoOn; };
    if (rows != nullptr) {
      RETURN_IF_ERROR(rows->BeginAttempt([this] { return call_.stopped(); }));
      start.blocks = rows->blocks_directory();
    }
    start.hear = [this, rows](const Json& event) {
      if (rows != nullptr && event["kind"].AsString() == "rows") rows->Hear(event);
      if (bucket_ != nullptr && event["worker"].AsInt() == 0) Mirror(event["kind"].AsString(), event);
    };
    if (!trainer.external) return runner_.Run(trainer.python, start);
    ASSIGN_OR_RETURN(start.program, trainer.external->Begin(start.number));
    ASSIGN_OR_RETURN(TrainerEnd end, runner_.Run({}, start));
    return trainer.external->Judge(std::move(end));
  }

  /// The machine is about to be taken; the checkpoint is complete.
  static Status Taken(const PreemptionNotice& notice) {
    return Status(Code::kUnavailable,
                  StrCat(notice.why(), "; the same command goes on from the last checkpoint"));
  }

  void Mirror(std::string_view kind, const Json& event) const {
    const std::int64_t step = event["step"].AsInt(-1);
    if (kind == "ckpt_commit" || kind == "ckpt_pin") bucket_->Committed(step);
    if (kind == "extend" && event["to"].is_int()) bucket_->WentBack(event["to"].AsInt());
  }

  Status Failure(const RestartDecision& decision) const {
    const std::vector<std::string>& tail = runner_.tail();
    const std::size_t shown = std::min(tail.size(), kShownTrainerLines);
    for (std::size_t at = tail.size() - shown; at < tail.size(); ++at)
      call_.Log(Level::kInfo, StrCat("| ", tail[at]));
    return Status(decision.code, StrCat(decision.why, "; its whole output: ", runner_.log()));
  }

  milliseconds Scaled(milliseconds time) const {
    return milliseconds(static_cast<std::int64_t>(job_.patience() * static_cast<double>(time.count())));
  }
  std::string Wait(milliseconds time) const {
    return time.count() == 0 ? std::string() : StrCat(" in ", (Scaled(time).count() + 999) / 1000, " s");
  }

  /// Returns false if the run was stopped meanwhile.
  bool Pause(milliseconds time) const {
    for (milliseconds left = Scaled(time); left.count() > 0 && !call_.stopped(); left -= milliseconds(50))
      std::this_thread::sleep_for(std::min(left, milliseconds(50)));
    return !call_.stopped();
  }

  const TrainJob& job_;
  const HostCall& call_;
  const RunDirectory& directory_;
  BucketRun* const bucket_;
  const TrainInputs& inputs_;
  AttemptRunner runner_;
};

/// One training with its location, its directory and its inputs.
class Training {
 public:
  /// `job` and `call` outlive it; the inputs of `job` get their local names when they are downloaded.
  Training(TrainJob& job, const HostCall& call, const TrainInputs& inputs, const RunDirectory& directory)
      : job_(job), call_(call), inputs_(inputs), directory_(directory) {
    if (job.run_dir != job.run_uri) bucket_.emplace(job, directory, call);
  }

  Result<Json> Run() {
    bool good = true;  // the directory, to go on in
    if (bucket_) {
      ASSIGN_OR_RETURN(const auto published, bucket_->FindPublished(JobFile(job_, inputs_)));
      if (published) {
        Standing(job_.run_uri);
        return AnswerOf(published->result, published->objects);
      }
      ASSIGN_OR_RETURN(good, bucket_->LocalIsGood());
    }
    TrainingRun run(job_, call_, directory_, bucket_ ? &*bucket_ : nullptr, inputs_);
    const bool stands = good && run.Stands();
    if (stands)
      Standing(job_.run_dir);
    else
      RETURN_IF_ERROR(Train(run, good));
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
    call_.Log(Level::kInfo, StrCat(job_.stage, ": ", place, " holds the steps that are asked for already"));
  }

  Status Train(TrainingRun& run, bool good) {
    TrainingRun::Trainer trainer;
    if (IsExternal(job_.settings)) {
      ASSIGN_OR_RETURN(trainer.external, ExternalTraining::Make(job_, directory_, call_));
    } else {
      ASSIGN_OR_RETURN(trainer.python, FindPython(job_.environment()));
    }
    ProgressReporter reporter(call_, job_.steps());
    reporter.Note(inputs_.Describe());
    ASSIGN_OR_RETURN(const std::unique_ptr<RowSupply> rows, BringInputs(job_, call_));
    if (rows && trainer.external) RETURN_IF_ERROR(rows->CheckWhole());
    if (rows && !rows->blocks_directory().empty()) {
      rows->BeginChecksums();
      RETURN_IF_ERROR(rows->AwaitChecksums());
    }
    if (!good) RETURN_IF_ERROR(bucket_->Restore());
    if (bucket_) {
      reporter.Note(StrCat("logs, events and TensorBoard files are in ", job_.run_dir));
      RETURN_IF_ERROR(bucket_->BeginMirror());
    }
    reporter.Hear(
        Json(Json::Object{{"kind", "phase"}, {"name", "init"}}));  // it takes a while to say so itself
    const PreemptionNotice notice([this](std::string_view path) { return call_.Metadata(path); });
    Status ran = run.Run(trainer, notice, rows.get());
    if (rows)
      EventJournal(directory_.Path("events.jsonl"), call_).Keep(rows->Report(), SystemClock().Monotonic());
    if (!bucket_) return ran;
    // The progress is worth keeping after any kind of end.
    Status mirrored = bucket_->FinishMirror();
    return ran.ok() ? mirrored : ran;
  }

  TrainJob& job_;
  const HostCall& call_;
  const TrainInputs& inputs_;
  const RunDirectory& directory_;
  std::optional<BucketRun> bucket_;  // absent where the run directory is the place of the run
};

/// In a directory in which several hosts have trained, checkpoints have the form of those in a bucket: they
/// are brought here, and sent there.
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

Result<Json> Train(TrainJob job, const HostCall& call) {
  RETURN_IF_ERROR(KeepApart(job));
  const ReadWhole read = [storage = call.storage()](const std::string& uri, std::uint64_t most) {
    return storage.Read(uri, most);
  };
  ASSIGN_OR_RETURN(const TrainInputs inputs, CheckTrainInputs(job, read));
  ASSIGN_OR_RETURN(const RunDirectory directory, RunDirectory::Open(job.run_dir));
  return Training(job, call, inputs, directory).Run();
}

}  // namespace pipeline
