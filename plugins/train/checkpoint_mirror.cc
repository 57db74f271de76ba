#include "plugins/train/checkpoint_mirror.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/str.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/train_job.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kLook{200};  // for a stop
constexpr const char* kOutgoing = "outgoing";    // the next run removes files that stay there

/// Links the same files below `to`; they keep their contents even if `from` is removed.
Status LinkTree(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesBelow(from));
  if (names.empty()) return Status(Code::kNotFound, StrCat(from, ": holds no files"));
  RETURN_IF_ERROR(LinkFiles(from, names, to));
  // The trainer may have begun to remove it before we linked all files.
  ASSIGN_OR_RETURN(const std::vector<std::string> left, FilesBelow(from));
  if (left != names) return Status(Code::kNotFound, StrCat(from, ": was removed meanwhile"));
  return {};
}

/// Parses the step in a path below checkpoints/; -1 if there is none.
std::int64_t StepOf(const std::string& path) {
  const std::optional<CheckpointObject> object = ParseCheckpointObject(path + ".json");
  return object ? object->checkpoint.step : -1;
}

}  // namespace

CheckpointMirror::CheckpointMirror(BucketCheckpoints& checkpoints, const RunDirectory& directory,
                                   const PluginServices& call, std::optional<std::chrono::nanoseconds> grace,
                                   std::function<void()> before, std::function<void(std::int64_t step)> sent)
    : checkpoints_(checkpoints),
      directory_(directory),
      call_(call),
      from_stop_(grace.has_value()),
      grace_(grace.value_or(kLeastGrace)),
      before_(std::move(before)),
      sent_(std::move(sent)) {
  committed_ = directory_.Read(kBucketRecord)["committed"].AsString();
  (void)RemoveAll(directory_.Path(kOutgoing));
  thread_ = std::jthread([this] { Loop(); });
}

CheckpointMirror::~CheckpointMirror() { (void)Finish(); }

void CheckpointMirror::Hand(std::int64_t step, bool went_back) {
  Handed handed{step, StrCat(directory_.Path(kOutgoing), "/", ++handed_),
                directory_.Read(StrCat("checkpoints/", step, ".json")), went_back};
  Status linked = LinkTree(StrCat(directory_.Path("checkpoints"), "/", step), handed.directory);
  if (!linked.ok()) {
    // The trainer may have removed it already for a newer one, which it announces next.
    call_.log(Level::kWarning, StrCat("the checkpoint at step ", step, " is not brought to ",
                                      checkpoints_.uri(), ": ", linked.message()));
    (void)RemoveAll(handed.directory);
    return Fared(step, std::move(linked));
  }
  std::vector<Handed> passed;
  {
    const Lock lock(mutex_);
    waiting_.push_back(std::move(handed));
    passed = TakeSuperseded();
    if (went_back) last_step_ = -1;
  }
  changed_.NotifyAll();
  for (const Handed& old : passed) (void)RemoveAll(old.directory);
}

std::vector<CheckpointMirror::Handed> CheckpointMirror::TakeSuperseded() {
  const auto back =
      std::find_if(waiting_.rbegin(), waiting_.rend(), [](const Handed& one) { return one.went_back; });
  std::vector<Handed> kept, passed;
  std::set<std::string> pinned;  // by those behind
  for (auto at = waiting_.rbegin(); at != waiting_.rend(); ++at) {
    const Result<std::vector<std::string>> pins = ParsePins(at->digests, "");
    bool needed = kept.empty() || at->went_back;
    if (pins.ok())
      for (const std::string& pin : *pins) needed |= pinned.insert(pin).second;
    // Checkpoints after `back` that existed before it do not count.
    const bool left = back != waiting_.rend() && at > back;
    (needed && !left ? kept : passed).push_back(std::move(*at));
  }
  waiting_.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  return passed;
}

Status CheckpointMirror::Finish() {
  {
    const Lock lock(mutex_);
    closing_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  const Lock lock(mutex_);
  return last_;
}

void CheckpointMirror::Loop() {
  Lock lock(mutex_);
  while (true) {
    // `grace` counts from the stop, also if no transfer is in progress then.
    while (
        !changed_.WaitFor(lock, kLook, [this]() REQUIRES(mutex_) { return !waiting_.empty() || closing_; }))
      LookForStop();
    if (waiting_.empty()) return;
    Handed handed = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    const std::int64_t step = handed.step;
    lock.unlock();
    // If checkpoints that the training left stayed there, a newer one would seem older than they are.
    Status sent = back_ && !handed.went_back ? Send(*back_) : Status();
    if (back_ && sent.ok()) (void)RemoveAll(std::exchange(back_, std::nullopt)->directory);
    if (sent.ok()) sent = Send(handed);
    if (handed.went_back && back_) (void)RemoveAll(std::exchange(back_, std::nullopt)->directory);
    if (!sent.ok() && handed.went_back)
      back_ = std::move(handed);
    else
      (void)RemoveAll(handed.directory);
    if (!sent.ok())
      call_.log(Level::kWarning,
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
  const Lock lock(mutex_);
  if (step < last_step_) return;
  last_step_ = step;
  last_ = std::move(how);
}

bool CheckpointMirror::GivenUp() {
  const Lock lock(mutex_);
  LookForStop();
  return stopped_ && SystemClock().Monotonic() - *stopped_ > grace_;
}

void CheckpointMirror::LookForStop() {
  // Without a limit from the file the trainer may take longer than `grace_` to save.
  if (!stopped_ && (from_stop_ || closing_) && call_.stopped()) stopped_ = SystemClock().Monotonic();
}

Status CheckpointMirror::Measure(CheckpointMarker& marker, const Handed& handed) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesBelow(handed.directory));
  ASSIGN_OR_RETURN(marker.files, MeasureFiles(handed.directory, names));
  if (handed.digests.is_null()) return {};
  const std::string place = StrCat(directory_.Path("checkpoints"), "/", handed.step);
  ASSIGN_OR_RETURN(const CheckpointMarker wanted, ReadCheckpointMarker(handed.digests, place + ".json"));
  return CheckAsWritten(wanted.files, marker.files, place);
}

Status CheckpointMirror::Send(const Handed& handed) {
  const std::chrono::nanoseconds begin = SystemClock().Monotonic();
  CheckpointMarker marker;
  marker.step = handed.step;
  ASSIGN_OR_RETURN(marker.pinned, ParsePins(handed.digests, StrCat("checkpoints/", handed.step, ".json")));
  const bool best = std::find(marker.pinned.begin(), marker.pinned.end(), kBest) != marker.pinned.end();
  marker.best =
      best && handed.digests["best"].is_object() ? handed.digests["best"] : directory_.Read("best.json");
  RETURN_IF_ERROR(Measure(marker, handed));
  const std::string path = marker.Name().Path();
  const bool newest = handed.went_back || StepOf(committed_) <= handed.step;
  // This is written before the marker, so that a run after a kill knows the objects as its own.
  Json record = Json::Object{{"committed", committed_}};
  if (newest) record["sending"] = path;
  RETURN_IF_ERROR(directory_.Write(kBucketRecord, record));
  RETURN_IF_ERROR(checkpoints_.Commit(
      marker, handed.directory, [this] { return GivenUp(); }, before_));
  if (handed.went_back) {
    ASSIGN_OR_RETURN(const CheckpointName left, checkpoints_.RemoveBeyond(handed.step));
    committed_ = left.Path();
  } else if (newest) {
    committed_ = path;
  }
  record["committed"] = committed_;
  record.Remove("sending");
  RETURN_IF_ERROR(directory_.Write(kBucketRecord, record));
  call_.event(
      Json::Object{{"kind", "ckpt_kept"},
                   {"step", handed.step},
                   {"uri", checkpoints_.Uri(marker.Name())},
                   {"seconds", std::chrono::duration<double>(SystemClock().Monotonic() - begin).count()}});
  if (sent_) sent_(handed.step);
  if (call_.stopped()) return {};  // the next run removes what is too old
  if (const Status pruned = checkpoints_.Prune(); !pruned.ok())
    call_.log(Level::kWarning, StrCat("old checkpoints stay in the bucket: ", pruned.message()));
  return {};
}

}  // namespace pipeline
