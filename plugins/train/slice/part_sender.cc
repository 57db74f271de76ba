#include "plugins/train/slice/part_sender.h"

#include <chrono>
#include <vector>

#include "base/clock.h"
#include "base/str.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kRetry{5};
constexpr const char* kOutgoing = "outgoing";  // the next run removes files that stay there

}  // namespace

PartSender::PartSender(std::string uri, const RunDirectory& directory, const PluginServices& call)
    : directory_(directory), call_(call), storage_(*call.storage), bucket_(std::move(uri), 1, storage_) {
  (void)RemoveAll(directory_.Path(kOutgoing));
  thread_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
}

void PartSender::Send(const LocalCheckpoint& checkpoint) {
  const Key key(checkpoint.step, checkpoint.attempt);
  {
    const Lock lock(mutex_);
    if (wanted_ == key) return;
    wanted_ = key;
  }
  changed_.NotifyAll();
}

bool PartSender::Sent(const LocalCheckpoint& checkpoint) const {
  const Lock lock(mutex_);
  return sent_ == Key(checkpoint.step, checkpoint.attempt);
}

bool PartSender::Wanted(const Key& key) const {
  const Lock lock(mutex_);
  return wanted_ == key;
}

void PartSender::Loop(const std::stop_token& stop) {
  Lock lock(mutex_);
  while (true) {
    (void)changed_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return wanted_ && wanted_ != sent_; });
    if (stop.stop_requested()) return;
    const Key key = *wanted_;
    lock.unlock();
    const Status sent = SendPart(key, stop);
    if (!sent.ok() && sent.code() != Code::kCancelled)
      call_.log(Level::kWarning, StrCat("this host's part of the checkpoint at step ", key.first,
                                        " is not sent yet: ", sent.message()));
    lock.lock();
    if (sent.ok()) sent_ = key;
    if (!sent.ok())
      (void)changed_.WaitFor(lock, stop, kRetry, [&]() REQUIRES(mutex_) { return wanted_ != key; });
  }
}

Status PartSender::Link(const LocalPart& part, const std::string& outgoing) const {
  const std::string place = directory_.Path(StrCat("checkpoints/", part.step));
  std::vector<std::string> names;
  for (const FileFacts& file : part.part.files) names.push_back(file.name);
  RETURN_IF_ERROR(LinkFiles(place, names, outgoing));
  ASSIGN_OR_RETURN(const std::vector<FileFacts> found, MeasureFiles(outgoing, names));
  return CheckAsWritten(part.part.files, found, place);
}

Status PartSender::SendPart(const Key& key, const std::stop_token& stop) {
  const std::chrono::nanoseconds begin = SystemClock().Monotonic();
  const std::string name = StrCat("checkpoints/", key.first, ".json");
  const Json list = directory_.Read(name);
  // A host on a new disk, or one that has pruned it.
  if (list.is_null()) return Status(Code::kCancelled, "it is not on this disk");
  ASSIGN_OR_RETURN(const std::optional<LocalPart> local, ParseLocalPart(list, directory_.Path(name)));
  if (!local || local->unfinished || local->fetched || local->attempt != key.second)
    return Status(Code::kCancelled, "it is not on this disk");
  const PartRecord& record = *local;
  const std::string outgoing = directory_.Path(StrCat(kOutgoing, "/", key.first, "-", key.second));
  RETURN_IF_ERROR(Link(*local, outgoing));
  const Status sent =
      bucket_.SendPart(record, outgoing, [&] { return stop.stop_requested() || !Wanted(key); });
  (void)RemoveAll(outgoing);
  RETURN_IF_ERROR(sent);
  call_.event(
      Json::Object{{"kind", "part_kept"},
                   {"step", key.first},
                   {"uri", StrCat(bucket_.uri(), "/", record.Name())},
                   {"seconds", std::chrono::duration<double>(SystemClock().Monotonic() - begin).count()}});
  return {};
}

}  // namespace pipeline
