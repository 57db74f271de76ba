#include "plugins/train/checkpoint_mirror.h"

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
constexpr const char* kOutgoing = "outgoing";

/// The same files below `to`, which hold what they hold now even when `from` is removed.
Status LinkTree(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesBelow(from));
  for (const std::string& name : names) {
    const fs::path target = fs::path(to) / name;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (!error) fs::create_hard_link(fs::path(from) / name, target, error);
    if (error) fs::copy_file(fs::path(from) / name, target, fs::copy_options::overwrite_existing, error);
    if (error) return SystemError(target.string(), error.value());
  }
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

std::string CheckpointMirror::Outgoing(std::int64_t step) const {
  return StrCat(directory_.Path(kOutgoing), "/", step);
}

void CheckpointMirror::Committed(std::int64_t step) {
  const std::string outgoing = Outgoing(step);
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_ == step) return;
  }
  const Status linked = LinkTree(StrCat(directory_.Path("checkpoints"), "/", step), outgoing);
  if (!linked.ok()) {
    // The trainer may have removed it already, for a newer one that is told of next.
    call_.Log(Level::kWarning, StrCat("the checkpoint at step ", step, " is not brought to ",
                                      checkpoints_.uri(), ": ", linked.message()));
    RemoveTree(outgoing);
    return Fared(step, linked);
  }
  std::optional<std::int64_t> passed;
  {
    const std::scoped_lock lock(mutex_);
    passed = std::exchange(waiting_, step);
  }
  changed_.notify_all();
  if (passed) RemoveTree(Outgoing(*passed));
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
    changed_.wait(lock, [this] { return waiting_ || closing_; });
    if (!waiting_) return;
    const std::int64_t step = *std::exchange(waiting_, std::nullopt);
    lock.unlock();
    Status sent = Send(step);
    RemoveTree(Outgoing(step));
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

Status CheckpointMirror::Measure(CheckpointMarker& marker, const std::string& outgoing) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesBelow(outgoing));
  if (names.empty()) return Status(Code::kInternal, StrCat(outgoing, ": holds no files"));
  marker.files.resize(names.size());
  return RunSeveral(names.size(), kAtOnce, [&](std::size_t at) -> Status {
    ASSIGN_OR_RETURN(marker.files[at], MeasureFile(outgoing, names[at], [] { return false; }));
    return {};
  });
}

Status CheckpointMirror::Send(std::int64_t step) {
  const std::chrono::nanoseconds begin = SystemClock().Monotonic();
  CheckpointMarker marker;
  marker.step = step;
  marker.best = directory_.Read("best.json");
  RETURN_IF_ERROR(Measure(marker, Outgoing(step)));
  const std::string path = marker.Name().Path();
  // Before the marker: whoever finds it there after a kill knows it for ours.
  Json record;
  record["committed"] = committed_;
  record["sending"] = path;
  RETURN_IF_ERROR(directory_.Write(kBucketRecord, record));
  RETURN_IF_ERROR(checkpoints_.Commit(marker, Outgoing(step), [this] { return GivenUp(); }));
  committed_ = path;
  record["committed"] = path;
  record.Remove("sending");
  RETURN_IF_ERROR(directory_.Write(kBucketRecord, record));
  Json kept;
  kept["kind"] = "ckpt_kept";
  kept["step"] = step;
  kept["uri"] = checkpoints_.Uri(marker.Name());
  kept["seconds"] = std::chrono::duration<double>(SystemClock().Monotonic() - begin).count();
  call_.Emit(kept);
  if (call_.stopped()) return {};  // the next run removes what is too old
  if (const Status pruned = checkpoints_.Prune(); !pruned.ok())
    call_.Log(Level::kWarning, StrCat("old checkpoints stay in the bucket: ", pruned.message()));
  return {};
}

}  // namespace pipeline
