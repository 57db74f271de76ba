#include "plugins/train/slice/training_on_hosts.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/machine.h"
#include "base/random_name.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/hosts/errands.h"
#include "plugins/train/hosts/slice_loop.h"
#include "plugins/train/input_check.h"
#include "plugins/train/object_files.h"
#include "plugins/train/preemption_notice.h"
#include "plugins/train/slice/external_host.h"
#include "plugins/train/slice/host_trainer.h"
#include "plugins/train/slice/own_address.h"
#include "plugins/train/slice/slice_checkpoints.h"
#include "plugins/train/slice/slice_objects.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTick{500};
constexpr std::uint64_t kMostManifest = 256 << 20;

/// Covers this program, its plugin, and the trainer's Python files.
Result<std::string> ProgramDigest(const fs::path& bundled) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(bundled / "pipe_trainer", error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".py") files.push_back(at->path());
  if (error) return SystemError(bundled.string(), error.value());
  std::sort(files.begin(), files.end());
  files.insert(files.begin(), {"/proc/self/exe", bundled.parent_path() / "pipe_train.so"});
  Hasher hasher;
  for (const fs::path& file : files) {
    const Result<std::string> content = ReadWholeFile(file);
    if (!content.ok()) continue;  // a plugin under another name
    hasher.Update(StrCat(file.filename().string(), " ", content->size(), " "));
    hasher.Update(*content);
  }
  return hasher.Finish().ToHex();
}

/// The digests by which the hosts recognise that they run the same programs. "program": `pipe`, this plugin
/// and the trainer's code; "environment": the requirements and the version of Python; "reader": the library
/// that reads rows; "recipe": of the stage; "data": the manifest of the rows.
Result<std::map<std::string, std::string>> HostDigests(const TrainJob& job,
                                                       const std::string& data_manifest) {
  const fs::path bundled = BundledDirectory();
  std::map<std::string, std::string> digests;
  ASSIGN_OR_RETURN(digests["program"], ProgramDigest(bundled));
  const EnvironmentMark mark = ReadMark(job.environment());
  digests["environment"] = mark.digest.empty() ? std::string("own") : StrCat(mark.digest, " ", mark.version);
  // If absent: numpy reads the rows, with the same result.
  const Result<std::string> reader = ReadWholeFile(bundled / "libpipe_reader.so");
  digests["reader"] = reader.ok() ? DigestOf(*reader).ToHex() : std::string("none");
  digests["recipe"] = job.recipe;
  digests["data"] = DigestOf(data_manifest).ToHex();
  return digests;
}

Result<HostCard> CardOf(const TrainJob& job, const std::string& data_manifest) {
  const HostPosition& position = job.position;
  HostCard card;
  card.host = position.host;
  card.hosts = position.hosts;
  card.nonce = RandomName(32);
  card.boot = BootId();
  const auto at = static_cast<std::size_t>(position.host);
  card.address = at < position.addresses.size() ? position.addresses[at] : OwnAddress();
  ASSIGN_OR_RETURN(card.digests, HostDigests(job, data_manifest));
  return card;
}

TrainingEnd RunLoop(HostCard card, HostTiming timing, const PreparedTraining& training, SliceObjects& objects,
                    HostTrainer& trainer, const PreemptionNotice& notice) {
  const PluginServices& call = training.call;
  const std::string& stage = training.job.stage;
  // The stopped host's own trainers end after `grace`; the others read of the stop some seconds later.
  timing.save =
      std::max<HostTiming::Time>(timing.save, training.job.grace_or_least() + std::chrono::seconds(20));
  ThreadErrands errands;
  const Clock& clock = SystemClock();
  // A line of the loop is the state until a trainer reports its own.
  const auto tell = [&](std::string_view line) {
    call.log(Level::kInfo, StrCat(stage, ": ", line));
    call.Progress(0, 0, line);
  };
  SliceLoop loop(std::move(card), timing, objects, trainer, errands, tell, clock.Monotonic());
  bool said = false;
  while (true) {
    errands.Deliver();
    if (notice.noticed() && !std::exchange(said, true))
      call.log(Level::kWarning, StrCat(stage, ": ", notice.why(), "; all hosts save"));
    std::optional<TrainingEnd> end = loop.Tick(clock.Monotonic(), call.stopped() || notice.noticed());
    if (end) return std::move(*end);
    errands.Wait(kTick);
  }
}

Result<Json> AnswerOfEnd(const TrainingEnd& end, const PreparedTraining& training, const HostTrainer& trainer,
                         const PreemptionNotice& notice) {
  switch (end.outcome) {
    case TrainingOutcome::kDone:
      return training.leads() ? AnswerOf(training.directory.Read("result.json"), trainer.objects())
                              : Json(Json::Object{});
    case TrainingOutcome::kStopped:
      if (training.call.stopped()) return Status(Code::kCancelled, "stopped");
      return Status(notice.noticed() ? Code::kPreempted : Code::kUnavailable,
                    StrCat(notice.noticed() ? notice.why() : std::string("host 0 was stopped"),
                           "; the same command on every host goes on from the last checkpoint"));
    case TrainingOutcome::kFailed: return Status(end.code, end.message);
  }
  return Status(Code::kInternal, "no outcome");
}

}  // namespace

Result<Json> TrainOnHosts(const PreparedTraining& training, const HostTiming& timing) {
  const TrainJob& job = training.job;
  const PluginServices& call = training.call;
  const PluginStorage& storage = *call.storage;
  // An external trainer may have no rows.
  ASSIGN_OR_RETURN(const std::string manifest,
                   ReadText(storage, job.data_manifest.empty() ? job.data_set_manifest : job.data_manifest,
                            kMostManifest));
  ASSIGN_OR_RETURN(HostCard card, CardOf(job, manifest));
  const Json job_file = JobFile(job, training.inputs);
  RowSupply* const rows = training.rows.get();
  // Made before the threads of `checkpoints`, which use the journal: it ends behind them.
  struct Journal {
    BucketRun& bucket;
    ~Journal() { bucket.FinishJournal(); }
  } const journal{*training.bucket};
  if (training.leads()) RETURN_IF_ERROR(training.bucket->BeginJournal(job_file));
  SliceCheckpoints checkpoints(job, call, training.directory,
                               [bucket = training.bucket] { bucket->SendJournal(); });
  std::optional<ExternalHost> program;
  if (training.external) program.emplace(training, checkpoints);
  HostTrainer trainer({.training = training,
                       .data_digest = DigestOf(manifest).ToHex(),
                       .job_file = job_file,
                       .external = program ? &*program : nullptr},
                      checkpoints);
  // The run is listed only if its result has changed since it was found to be of another job.
  const auto is_published = [&, unfit = std::string()]() mutable -> Result<bool> {
    ASSIGN_OR_RETURN(const auto result, storage.ReadWhole(job.run_uri + "/result.json", kMostManifest));
    if (!result || result->version == unfit) return false;
    ASSIGN_OR_RETURN(const auto found, training.bucket->FindPublished(job_file));
    if (!found) unfit = result->version;
    return found.has_value();
  };
  const auto newest_marker = [&]() -> Result<std::int64_t> {
    // A failure that another try does not mend ends the run, as damaged checkpoints do.
    const auto ended = rows ? rows->ChecksumsEnded() : std::nullopt;
    if (ended && !ended->ok() && !call.stopped())
      return Status(Code::kDataLoss, std::string(ended->message()));
    if (program && program->shared()) return program->newest();
    return checkpoints.FindNewestMarker();
  };
  SliceObjects objects(
      storage, job.run_uri,
      {.is_published = is_published, .newest_marker = newest_marker, .addresses = job.position.addresses});
  const PreemptionNotice notice([&call](std::string_view path) { return call.Metadata(path); });
  const TrainingEnd end = RunLoop(std::move(card), timing, training, objects, trainer, notice);
  if (end.outcome != TrainingOutcome::kDone && !program) checkpoints.SendLast(job.grace_or_least());
  return AnswerOfEnd(end, training, trainer, notice);
}

}  // namespace pipeline
