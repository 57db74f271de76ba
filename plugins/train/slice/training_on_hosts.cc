#include "plugins/train/slice/training_on_hosts.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "base/machine.h"
#include "base/random_name.h"
#include "base/str.h"
#include "plugins/train/hosts/slice_loop.h"
#include "plugins/train/hosts/thread_errands.h"
#include "plugins/train/input_check.h"
#include "plugins/train/object_files.h"
#include "plugins/train/preemption_notice.h"
#include "plugins/train/slice/external_host.h"
#include "plugins/train/slice/host_digests.h"
#include "plugins/train/slice/host_trainer.h"
#include "plugins/train/slice/own_address.h"
#include "plugins/train/slice/slice_checkpoints.h"
#include "plugins/train/slice/slice_objects.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kTick{500};
constexpr std::uint64_t kMostManifest = 256 << 20;

/// The published result of the run, asked for often.
class Published {
 public:
  Published(const BucketRun& bucket, const PluginStorage& storage, const TrainJob& job, Json job_file)
      : bucket_(bucket),
        storage_(storage),
        uri_(job.run_uri + "/result.json"),
        job_file_(std::move(job_file)) {}

  /// Lists the run only if its result changed since the last call.
  Result<bool> IsThere() {
    ASSIGN_OR_RETURN(const auto result, storage_.ReadWhole(uri_, kMostManifest));
    if (!result) return false;
    if (result->version == unfit_) return false;
    ASSIGN_OR_RETURN(const auto found, bucket_.FindPublished(job_file_));
    if (!found) unfit_ = result->version;
    return found.has_value();
  }

 private:
  const BucketRun& bucket_;
  const PluginStorage& storage_;
  const std::string uri_;
  const Json job_file_;
  std::string unfit_;  // version of a result that is of another job
};

class HostRun {
 public:
  HostRun(const PreparedTraining& training, const HostTiming& timing)
      : training_(training),
        job_(training.job),
        position_(job_.position),
        timing_(timing),
        call_(training.call),
        directory_(training.directory) {}

  Result<Json> Run() {
    const PluginStorage& storage = *call_.storage;
    ASSIGN_OR_RETURN(const std::string manifest, ReadText(storage, DataManifest(), kMostManifest));
    ASSIGN_OR_RETURN(HostCard card, CardOf(manifest));
    const Json job_file = JobFile(job_, training_.inputs);
    RowSupply* const rows = training_.rows.get();
    SliceCheckpoints checkpoints(job_, call_, directory_);
    std::optional<ExternalHost> program;
    if (training_.external) program.emplace(job_, call_, directory_, *training_.external, checkpoints);
    HostTrainer trainer({.training = training_,
                         .data_digest = DigestOf(manifest).ToHex(),
                         .job_file = job_file,
                         .external = program ? &*program : nullptr},
                        checkpoints);
    Published published(*training_.bucket, storage, job_, job_file);
    SliceObjects objects(
        storage, job_.run_uri,
        {.is_published = [&published] { return published.IsThere(); },
         .newest_marker = [&checkpoints, &program, rows, &call = call_]() -> Result<std::int64_t> {
           // A failure that another try does not mend ends the run, as damaged
           // checkpoints do.
           const auto ended = rows ? rows->ChecksumsEnded() : std::nullopt;
           if (ended && !ended->ok() && !call.stopped())
             return Status(Code::kDataLoss, std::string(ended->message()));
           if (program && program->shared()) return program->newest();
           return checkpoints.FindNewestMarker();
         },
         .addresses = position_.addresses});
    const PreemptionNotice notice([this](std::string_view path) { return call_.Metadata(path); });
    const TrainingEnd end = Loop(std::move(card), objects, trainer, notice);
    if (end.outcome != TrainingOutcome::kDone && !program) checkpoints.SendLast(job_.grace_or_least());
    return AnswerOfEnd(end, trainer, notice);
  }

 private:
  /// An external trainer may have no rows.
  const std::string& DataManifest() const {
    return job_.data_manifest.empty() ? job_.data_set_manifest : job_.data_manifest;
  }

  Result<HostCard> CardOf(const std::string& data_manifest) const {
    HostCard card;
    card.host = position_.host;
    card.hosts = position_.hosts;
    card.nonce = RandomName(32);
    card.boot = BootId();
    const auto at = static_cast<std::size_t>(position_.host);
    card.address = at < position_.addresses.size() ? position_.addresses[at] : OwnAddress();
    ASSIGN_OR_RETURN(card.digests, HostDigests(job_, data_manifest));
    return card;
  }

  TrainingEnd Loop(HostCard card, SliceObjects& objects, HostTrainer& trainer,
                   const PreemptionNotice& notice) {
    HostTiming timing = timing_;
    // The stopped host's own trainers end after `grace`; the others read of the stop some seconds later.
    timing.save = std::max<HostTiming::Time>(timing.save, job_.grace_or_least() + std::chrono::seconds(20));
    ThreadErrands errands;
    const Clock& clock = SystemClock();
    SliceLoop loop(
        std::move(card), timing, objects, trainer, errands, [this](std::string_view line) { Tell(line); },
        clock.Monotonic());
    bool said = false;
    while (true) {
      errands.Deliver();
      if (notice.noticed() && !std::exchange(said, true))
        call_.log(Level::kWarning, StrCat(job_.stage, ": ", notice.why(), "; all hosts save"));
      std::optional<TrainingEnd> end = loop.Tick(clock.Monotonic(), call_.stopped() || notice.noticed());
      if (end) return std::move(*end);
      errands.Wait(kTick);
    }
  }

  /// Shows a line of the loop, and as the state until a trainer reports its own.
  void Tell(std::string_view line) const {
    call_.log(Level::kInfo, StrCat(job_.stage, ": ", line));
    call_.Progress(0, 0, line);
  }

  Result<Json> AnswerOfEnd(const TrainingEnd& end, const HostTrainer& trainer,
                           const PreemptionNotice& notice) const {
    switch (end.outcome) {
      case TrainingOutcome::kDone:
        return training_.leads() ? AnswerOf(directory_.Read("result.json"), trainer.objects())
                                 : Json(Json::Object{});
      case TrainingOutcome::kStopped:
        if (call_.stopped()) return Status(Code::kCancelled, "stopped");
        return Status(Code::kUnavailable,
                      StrCat(notice.noticed() ? notice.why() : std::string("host 0 was stopped"),
                             "; the same command on every host goes on from the last checkpoint"));
      case TrainingOutcome::kFailed: return Status(end.code, end.message);
    }
    return Status(Code::kInternal, "no outcome");
  }

  const PreparedTraining& training_;
  const TrainJob& job_;
  const HostPosition& position_;
  const HostTiming timing_;
  const PluginServices& call_;
  const RunDirectory& directory_;
};

}  // namespace

Result<Json> TrainOnHosts(const PreparedTraining& training, const HostTiming& timing) {
  return HostRun(training, timing).Run();
}

}  // namespace pipeline
