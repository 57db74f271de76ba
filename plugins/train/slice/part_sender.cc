#include "plugins/train/slice/part_sender.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "base/str.h"
#include "plugins/train/link_files.h"
#include "plugins/train/several.h"

namespace pipeline {

namespace {

constexpr std::size_t kAtOnce = 4;
constexpr std::chrono::seconds kRetry{5};
constexpr const char* kOutgoing = "outgoing";

void RemoveTree(const std::string& path) {
  std::error_code ignored;  // the next run removes it
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

PartSender::PartSender(std::string uri, const RunDirectory& directory, const HostCall& call)
    : uri_(std::move(uri)), directory_(directory), call_(call), storage_(call.storage()) {
  RemoveTree(directory_.Path(kOutgoing));
  thread_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
}

PartSender::~PartSender() {
  {
    const Lock lock(mutex_);
    closing_ = true;
  }
  changed_.NotifyAll();
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
  return !closing_ && wanted_ == key;
}

void PartSender::Loop(const std::stop_token&) {
  Lock lock(mutex_);
  while (true) {
    changed_.Wait(lock, [this]() REQUIRES(mutex_) { return closing_ || (wanted_ && wanted_ != sent_); });
    if (closing_) return;
    const Key key = *wanted_;
    lock.unlock();
    const Status sent = SendPart(key);
    if (!sent.ok() && sent.code() != Code::kCancelled)
      call_.Log(Level::kWarning, StrCat("this host's part of the checkpoint at step ", key.first,
                                        " is not sent yet: ", sent.message()));
    lock.lock();
    if (sent.ok()) sent_ = key;
    if (!sent.ok())
      changed_.WaitFor(lock, kRetry, [&]() REQUIRES(mutex_) { return closing_ || wanted_ != key; });
  }
}

Status PartSender::Link(const LocalPart& part, const std::string& outgoing) const {
  std::vector<std::string> names;
  for (const FileFacts& file : part.part.files) names.push_back(file.name);
  RETURN_IF_ERROR(LinkFiles(directory_.Path(StrCat("checkpoints/", part.step)), names, outgoing));
  return RunSeveral(names.size(), kAtOnce, [&](std::size_t at) -> Status {
    ASSIGN_OR_RETURN(const FileFacts found, MeasureFile(outgoing, names[at], [] { return false; }));
    if (found == part.part.files[at]) return {};
    return Status(Code::kDataLoss, StrCat(directory_.Path(StrCat("checkpoints/", part.step, "/", names[at])),
                                          ": is not as the trainer wrote it, of ", part.part.files[at].bytes,
                                          " bytes and CRC-32C ", ShownCrc(part.part.files[at])));
  });
}

Status PartSender::SendPart(const Key& key) {
  const std::chrono::nanoseconds begin = SystemClock().Monotonic();
  const std::string name = StrCat("checkpoints/", key.first, ".json");
  const Json list = directory_.Read(name);
  // A host on a new disk, or one that has pruned it.
  if (list.is_null()) return Status(Code::kCancelled, "it is not on this disk");
  ASSIGN_OR_RETURN(const std::optional<LocalPart> local, ParseLocalPart(list, directory_.Path(name)));
  if (!local || local->unfinished || local->fetched || local->attempt != key.second)
    return Status(Code::kCancelled, "it is not on this disk");
  PartRecord record{local->step, local->attempt, local->hosts, local->part};
  const std::string outgoing = directory_.Path(StrCat(kOutgoing, "/", key.first, "-", key.second));
  RETURN_IF_ERROR(Link(*local, outgoing));
  const std::string folder = StrCat(uri_, "/", key.first, "/", record.part.Digest());
  ASSIGN_OR_RETURN(const std::vector<HostStorage::Object> listed, storage_.List(folder));
  std::map<std::string, std::uint64_t> there;
  for (const HostStorage::Object& object : listed) there.emplace(object.name, object.bytes);
  const auto given_up = [&] { return !Wanted(key); };
  const Status sent = RunSeveral(record.part.files.size(), kAtOnce, [&](std::size_t at) -> Status {
    const FileFacts& file = record.part.files[at];
    const auto found = there.find(file.name);
    if (found != there.end() && found->second == file.bytes) return {};
    if (given_up()) return Status(Code::kCancelled, "another checkpoint is sent");
    const Status put = storage_.Put(StrCat(outgoing, "/", file.name), StrCat(folder, "/", file.name),
                                    PIPE_CREATE_ONLY | PIPE_AFTER_STOP, given_up);
    // An earlier try, whose answer was lost, sent the same bytes: its content is in the folder's name.
    return put.code() == Code::kAlreadyExists ? Status() : put;
  });
  RemoveTree(outgoing);
  RETURN_IF_ERROR(sent);
  const std::string uri = StrCat(uri_, "/", PartRecord::Name(key.first, key.second, record.part.host));
  const Status told = storage_.PutText(record.Encode(), uri, PIPE_CREATE_ONLY | PIPE_AFTER_STOP);
  if (told.code() == Code::kAlreadyExists) {
    ASSIGN_OR_RETURN(const auto there_already,
                     storage_.ReadWhole(uri, kMostPartRecord));  // also after a stop
    if (!there_already || there_already->bytes != record.Encode())
      return Status(Code::kDataLoss, StrCat(uri, ": another start of this host has sent another part"));
  } else {
    RETURN_IF_ERROR(told);
  }
  Json kept;
  kept["kind"] = "part_kept";
  kept["step"] = key.first;
  kept["uri"] = uri;
  kept["seconds"] = std::chrono::duration<double>(SystemClock().Monotonic() - begin).count();
  call_.Emit(kept);
  return {};
}

}  // namespace pipeline
