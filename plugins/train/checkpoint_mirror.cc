#include "plugins/train/checkpoint_mirror.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/str.h"
#include "plugins/train/several.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAtOnce = 4;
constexpr std::chrono::milliseconds kLook{200};  // for a stop
constexpr const char* kOutgoing = "outgoing";

/// The same files below `to`, which hold what they hold now even when `from` is removed.
Status LinkTree(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesBelow(from));
  if (names.empty()) return Status(Code::kNotFound, StrCat(from, ": holds no files"));
  for (const std::string& name : names) {
    const fs::path target = fs::path(to) / name;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (!error) fs::create_hard_link(fs::path(from) / name, target, error);
    if (error) fs::copy_file(fs::path(from) / name, target, fs::copy_options::overwrite_existing, error);
    if (error) return SystemError(target.string(), error.value());
  }
  // Whoever removes it may have begun before we had all.
  ASSIGN_OR_RETURN(const std::vector<std::string> left, FilesBelow(from));
  if (left != names) return Status(Code::kNotFound, StrCat(from, ": was removed meanwhile"));
  return {};
}

void RemoveTree(const std::string& path) {
  std::error_code ignored;  // the next run takes it away
  fs::remove_all(path, ignored);
}

}  // namespace

CheckpointMirror::CheckpointMirror(BucketCheckpoints& checkpoints, const RunDirectory& directory,
                                   const HostCall& call, std::chrono::nanoseconds grace)
    : checkpoints_(checkpoints), directory_(directory), call_(call), grace_(grace) {
  committed_ = directory_.Read(kBucketRecord)["committed"].AsString();
  RemoveTree(directory_.Path(kOutgoing));
  thread_ = std::jthread([this] { Loop(); });
}

CheckpointMirror::~CheckpointMirror() { (void)Finish(); }

void CheckpointMirror::Committed(std::int64_t step) {
  Handed handed{step, StrCat(directory_.Path(kOutgoing), "/", ++handed_),
                directory_.Read(StrCat("checkpoints/", step, ".json"))};
  Status linked = LinkTree(StrCat(directory_.Path("checkpoints"), "/", step), handed.directory);
  if (!linked.ok()) {
    // The trainer may have removed it already, for a newer one that is told of next.
    call_.Log(Level::kWarning, StrCat("the checkpoint at step ", step, " is not brought to ",
                                      checkpoints_.uri(), ": ", linked.message()));
    RemoveTree(handed.directory);
    return Fared(step, std::move(linked));
  }
  std::optional<Handed> passed;
  {
    const std::scoped_lock lock(mutex_);
    passed = std::exchange(waiting_, std::move(handed));
  }
  changed_.notify_all();
  if (passed) RemoveTree(passed->directory);
}

Status CheckpointMirror::Finish() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return last_;
}

void CheckpointMirror::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    // `grace` counts from the stop, also where nothing is on its way then.
    while (!changed_.wait_for(lock, kLook, [this] { return waiting_ || closing_; }))
      if (!stopped_ && call_.stopped()) stopped_ = SystemClock().Monotonic();
    if (!waiting_) return;
    const Handed handed = *std::exchange(waiting_, std::nullopt);
    const std::int64_t step = handed.step;
    lock.unlock();
    Status sent = Send(handed);
    RemoveTree(handed.directory);
    if (!sent.ok())
      call_.Log(Level::kWarning,
                sent.code() == Code::kCancelled
                    ? StrCat("the checkpoint at step ", step, " is on this machine alone, in ",
                             directory_.Path("checkpoints"), ": ", grace_ / std::chrono::seconds(1),
                             " s after the stop were too few to bring it to ", checkpoints_.uri(),
                             "; a run on another machine goes on from ",
                             committed_.empty() ? "the beginning" : StrCat("checkpoints/", committed_),
                             " (`grace` gives it longer)")
                    : StrCat("the checkpoint at step ", step, " is on this machine alone: ", sent.message()));
    Fared(step, std::move(sent));
    lock.lock();
  }
}

void CheckpointMirror::Fared(std::int64_t step, Status how) {
  const std::scoped_lock lock(mutex_);
  if (step < last_step_) return;
  last_step_ = step;
  last_ = std::move(how);
}

bool CheckpointMirror::GivenUp() {
  if (!call_.stopped()) return false;
  const std::chrono::nanoseconds now = SystemClock().Monotonic();
  const std::scoped_lock lock(mutex_);
  if (!stopped_) stopped_ = now;
  return now - *stopped_ > grace_;
}

Status CheckpointMirror::Measure(CheckpointMarker& marker, const Handed& handed) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesBelow(handed.directory));
  marker.files.resize(names.size());
  RETURN_IF_ERROR(RunSeveral(names.size(), kAtOnce, [&](std::size_t at) -> Status {
    ASSIGN_OR_RETURN(marker.files[at], MeasureFile(handed.directory, names[at], [] { return false; }));
    return {};
  }));
  if (handed.digests.is_null()) return {};
  const std::string place = StrCat(directory_.Path("checkpoints"), "/", handed.step);
  ASSIGN_OR_RETURN(const CheckpointMarker wanted, ReadCheckpointMarker(handed.digests, place + ".json"));
  for (const FileFacts& file : wanted.files)
    if (std::find(marker.files.begin(), marker.files.end(), file) == marker.files.end())
      return Status(Code::kDataLoss, StrCat(place, "/", file.name, ": is not as the trainer wrote it, of ",
                                            file.bytes, " bytes and CRC-32C ", ShownCrc(file)));
  return {};
}

Status CheckpointMirror::Send(const Handed& handed) {
  const std::chrono::nanoseconds begin = SystemClock().Monotonic();
  CheckpointMarker marker;
  marker.step = handed.step;
  marker.best = directory_.Read("best.json");
  RETURN_IF_ERROR(Measure(marker, handed));
  const std::string path = marker.Name().Path();
  // Before the marker: whoever finds it there after a kill knows it for ours.
  Json record;
  record["committed"] = committed_;
  record["sending"] = path;
  RETURN_IF_ERROR(directory_.Write(kBucketRecord, record));
  RETURN_IF_ERROR(checkpoints_.Commit(marker, handed.directory, [this] { return GivenUp(); }));
  committed_ = path;
  record["committed"] = path;
  record.Remove("sending");
  RETURN_IF_ERROR(directory_.Write(kBucketRecord, record));
  Json kept;
  kept["kind"] = "ckpt_kept";
  kept["step"] = handed.step;
  kept["uri"] = checkpoints_.Uri(marker.Name());
  kept["seconds"] = std::chrono::duration<double>(SystemClock().Monotonic() - begin).count();
  call_.Emit(kept);
  if (call_.stopped()) return {};  // the next run removes what is too old
  if (const Status pruned = checkpoints_.Prune(); !pruned.ok())
    call_.Log(Level::kWarning, StrCat("old checkpoints stay in the bucket: ", pruned.message()));
  return {};
}

}  // namespace pipeline
