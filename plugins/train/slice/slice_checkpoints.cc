#include "plugins/train/slice/slice_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/str.h"
#include "plugins/train/hosts/training_end.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kMarkEvery{2};
constexpr const char* kStatePrefix = "state/";

std::string StepName(std::int64_t step) { return StrCat("checkpoints/", step); }

LocalCheckpoint CardEntry(const LocalPart& part) {
  return {.step = part.step, .attempt = part.attempt, .part = part.part.Digest()};
}

/// A file with elements of an array, in a checkpoint by parts.
bool IsChunk(const std::string& name) {
  const char first = name[name.rfind('/') + 1];
  return name.starts_with(kStatePrefix) &&
         name.find('/', std::string_view(kStatePrefix).size()) != std::string::npos && first != '.' &&
         first != '_';
}

}  // namespace

SliceCheckpoints::SliceCheckpoints(const TrainJob& job, const PluginServices& call,
                                   const RunDirectory& directory, std::function<void()> before_mark)
    : job_(job),
      call_(call),
      directory_(directory),
      storage_(*call.storage),
      before_mark_(std::move(before_mark)),
      sender_(job.run_uri + "/checkpoints", directory, call),
      bucket_(job.run_uri + "/checkpoints", job.settings["keep_checkpoints"].AsInt(1), storage_) {
  Look();
  answers_ = std::jthread([this](const std::stop_token& stop) { AnswerLoop(stop); });
  if (job.position.host == 0) marks_ = std::jthread([this](const std::stop_token& stop) { MarkLoop(stop); });
}

std::vector<LocalCheckpoint> SliceCheckpoints::Local() const {
  const Lock lock(mutex_);
  return listed_;
}

void SliceCheckpoints::AttemptEnded() {
  Look();
  const Lock lock(bucket_mutex_);
  looked_ = false;
}

void SliceCheckpoints::Look() {
  std::vector<LocalPart> found;
  std::error_code error;
  for (const std::int64_t step : StepsBelow(directory_.Path("checkpoints"))) {
    if (!fs::is_directory(directory_.Path(StepName(step)), error)) continue;
    const std::string list = StepName(step) + ".json";
    const auto part = ParseLocalPart(directory_.Read(list), directory_.Path(list));
    if (!part.ok() || !*part || (*part)->unfinished || (*part)->fetched) continue;
    const bool same_hosts = (*part)->hosts == job_.position.hosts && (*part)->part.host == job_.position.host;
    if (same_hosts && (*part)->step == step) found.push_back(**part);
  }
  std::vector<LocalCheckpoint> listed;
  for (const LocalPart& part : found) listed.push_back(CardEntry(part));
  const Lock lock(mutex_);
  local_ = std::move(found);
  listed_ = std::move(listed);
}

bool SliceCheckpoints::HasOwn(std::int64_t step) const {
  const Lock lock(mutex_);
  return std::any_of(local_.begin(), local_.end(),
                     [step](const LocalPart& part) { return part.step == step; });
}

// --- Sending.

void SliceCheckpoints::Send(const LocalCheckpoint& checkpoint) {
  sender_.Send(checkpoint);
  if (job_.position.host != 0) return;
  const Lock lock(mutex_);
  if (send_ && send_->step == checkpoint.step && send_->attempt == checkpoint.attempt) return;
  send_ = checkpoint;
}

void SliceCheckpoints::MarkLoop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::optional<LocalCheckpoint> send;
    {
      Lock lock(mutex_);
      (void)changed_.WaitFor(lock, stop, kMarkEvery, [] { return false; });
      send = send_;
    }
    if (stop.stop_requested()) return;
    Status marked = RemoveLeft();
    if (marked.ok() && send && send->step > marked_) marked = MarkSent(*send);
    if (marked.ok()) marked = MarkPins();
    if (!marked.ok() && marked.code() != Code::kCancelled)
      call_.log(Level::kWarning, StrCat("the marker of a checkpoint is not written yet: ", marked.message()));
  }
}

Status SliceCheckpoints::MarkSent(const LocalCheckpoint& checkpoint) {
  CheckpointMarker marker;
  marker.step = checkpoint.step;
  marker.attempt = checkpoint.attempt;
  for (int host = 0; host < job_.position.hosts; ++host) {
    const std::string uri =
        StrCat(job_.run_uri, "/checkpoints/", PartRecord::Name(checkpoint.step, checkpoint.attempt, host));
    ASSIGN_OR_RETURN(const auto found, storage_.ReadWhole(uri, kMostPartRecord));
    if (!found) return {};  // it is still being sent
    ASSIGN_OR_RETURN(PartRecord record, ParsePartRecord(found->bytes, uri));
    if (record.step != checkpoint.step || record.attempt != checkpoint.attempt || record.part.host != host ||
        record.hosts != job_.position.hosts)
      return Status(Code::kDataLoss, StrCat(uri, ": tells of another part than its name says"));
    marker.parts.push_back(std::move(record.part));
  }
  std::int64_t restored = -1;
  {
    const Lock lock(mutex_);
    restored = restored_;
    for (const LocalPart& part : local_)
      if (part.step == checkpoint.step) marker.pinned = part.pins, marker.best = part.best;
  }
  if (!marker.best.is_object()) marker.best = directory_.Read("best.json");
  if (before_mark_) before_mark_();
  const Lock lock(bucket_mutex_);
  RETURN_IF_ERROR(bucket_.MarkParts(marker));
  markers_[marker.step] = marker;
  marked_ = marker.step;
  call_.event(
      Json::Object{{"kind", "ckpt_kept"}, {"step", marker.step}, {"uri", bucket_.Uri(marker.Name())}});
  bucket_.Protect({restored, marker.step}, marker.step);
  if (call_.stopped()) return {};  // the next run removes old ones
  if (const Status pruned = bucket_.Prune(); !pruned.ok())
    call_.log(Level::kWarning, StrCat("old checkpoints stay in the bucket: ", pruned.message()));
  return {};
}

void SliceCheckpoints::GoBack(std::int64_t step) {
  if (job_.position.host != 0) return;
  const Lock lock(mutex_);
  went_back_ = step;
  send_.reset();
}

Status SliceCheckpoints::RemoveLeft() {
  std::optional<std::int64_t> step;
  {
    const Lock lock(mutex_);
    step = went_back_;
  }
  if (!step) return {};
  const Lock lock(bucket_mutex_);
  bucket_.Protect({}, std::numeric_limits<std::int64_t>::max());
  RETURN_IF_ERROR(bucket_.RemoveBeyond(*step).status());
  marked_ = *step;
  std::erase_if(markers_, [&](const auto& marker) { return marker.first > *step; });
  const Lock inner(mutex_);
  went_back_.reset();
  return {};
}

Status SliceCheckpoints::MarkPins() {
  std::vector<LocalPart> local;
  {
    const Lock lock(mutex_);
    local = local_;
  }
  const Lock lock(bucket_mutex_);
  for (const LocalPart& part : local) {
    const auto marker = markers_.find(part.step);
    if (marker == markers_.end() || marker->second.attempt != part.attempt ||
        marker->second.pinned == part.pins)
      continue;
    CheckpointMarker changed = marker->second;
    changed.pinned = part.pins;
    if (part.best.is_object()) changed.best = part.best;
    RETURN_IF_ERROR(bucket_.MarkParts(changed));
    marker->second = std::move(changed);
  }
  return {};
}

void SliceCheckpoints::SendLast(std::chrono::nanoseconds grace) {
  const std::vector<LocalCheckpoint> local = Local();
  if (local.empty()) return;
  const LocalCheckpoint& last = local.back();
  Send(last);
  const std::chrono::nanoseconds end = SystemClock().Monotonic() + grace;
  const bool leads = job_.position.host == 0;
  while (SystemClock().Monotonic() < end && (leads ? marked_ < last.step : !sender_.Sent(last)))
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

// --- Restoring.

Result<std::int64_t> SliceCheckpoints::FindNewestMarker() {
  const Lock lock(bucket_mutex_);
  if (!looked_) {
    ASSIGN_OR_RETURN(std::vector<CheckpointName> committed, bucket_.Committed());
    std::error_code error;
    if (!IsElsewhere(job_.run_uri) && !fs::exists(StrCat(job_.run_uri, "/", AttemptName(1)), error)) {
      // A kill may have left some of them copied.
      RETURN_IF_ERROR(bucket_.CopyFrom(job_.run_uri + "/checkpoints", call_));
      ASSIGN_OR_RETURN(committed, bucket_.Committed());
    }
    std::int64_t newest = -1;
    for (const CheckpointName& name : committed) {
      if (!bucket_.Usable(name)) continue;
      const Result<CheckpointMarker> marker = bucket_.Open(name);
      if (!marker.ok() && !IsUseless(marker.status())) return marker.status();
      if (!marker.ok()) {
        call_.log(Level::kWarning, StrCat(bucket_.Uri(name), ": damaged, going back to the one before: ",
                                          marker.status().message()));
        continue;
      }
      newest = name.step;
      markers_[newest] = *marker;
      break;
    }
    if (newest < 0 && !committed.empty()) return NoneCanBeRead(bucket_.uri(), committed.size());
    marked_ = newest;
    looked_ = true;
  }
  return marked_.load();
}

Result<CheckpointMarker> SliceCheckpoints::MarkerOf(std::int64_t step) {
  const Lock lock(bucket_mutex_);
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, bucket_.Committed());
  for (const CheckpointName& name : committed)
    if (name.step == step && bucket_.Usable(name)) {
      ASSIGN_OR_RETURN(const CheckpointMarker marker, bucket_.Open(name));
      return markers_[step] = marker;
    }
  return Status(Code::kNotFound, StrCat(bucket_.uri(), "/", step, ": has no marker"));
}

Status SliceCheckpoints::Bring(const AttemptRecord& attempt, const std::function<bool()>& given_up) {
  attempt_ = attempt.number;  // ends a fetch for the attempt before
  const Lock fetching(fetch_mutex_);
  Look();
  {
    const Lock lock(mutex_);
    needs_.clear();
    restored_ = attempt.step;
  }
  if (attempt.step < 0) return {};
  if (!attempt.local) {
    // An own part of this step may be of another attempt: only the marker counts.
    ASSIGN_OR_RETURN(const CheckpointMarker marker, MarkerOf(attempt.step));
    RETURN_IF_ERROR(BringOne(marker, given_up));
    if (marker.best.is_object()) RETURN_IF_ERROR(directory_.Write("best.json", marker.best));
  } else if (!HasOwn(attempt.step)) {
    return Status(Code::kUnavailable,
                  StrCat(directory_.Path(StepName(attempt.step)), ": is not on this disk any more"));
  }
  std::vector<CheckpointMarker> pinned;
  {
    const Lock lock(bucket_mutex_);
    ASSIGN_OR_RETURN(const std::vector<CheckpointName> names, bucket_.Pinned());
    for (const CheckpointName& name : names) {
      if (name.step >= attempt.step || HasOwn(name.step)) continue;
      const Result<CheckpointMarker> marker = bucket_.Open(name);
      if (marker.ok()) pinned.push_back(*marker), markers_[name.step] = *marker;
    }
  }
  for (const CheckpointMarker& marker : pinned) RETURN_IF_ERROR(BringOne(marker, given_up));
  RemoveIncoming();
  return {};
}

void SliceCheckpoints::RemoveIncoming() const {
  for (const std::string& name : NamesIn(directory_.Path("")))  // left by attempts that were given up
    if (name.starts_with(kIncoming)) (void)RemoveAll(directory_.Path(name));
}

bool SliceCheckpoints::IsInstalled(const CheckpointMarker& marker) const {
  const Json list = directory_.Read(StepName(marker.step) + ".json");
  std::error_code error;
  return list["files"] == FilesToJson(marker.AllFiles()) && list["fetched"].AsBool() == marker.by_parts() &&
         fs::is_directory(directory_.Path(StepName(marker.step)), error);
}

Status SliceCheckpoints::BringOne(const CheckpointMarker& marker, const std::function<bool()>& given_up) {
  const bool installed = IsInstalled(marker);  // by an attempt before; its chunks are fetched once
  const std::string directory =
      directory_.Path(installed ? StepName(marker.step) : kIncoming + marker.Name().id);
  // A checkpoint of a single host cannot be fetched in part.
  const FileTest wanted =
      marker.by_parts() ? FileTest([](const std::string& name) { return !IsChunk(name); }) : FileTest();
  const Result<std::uint64_t> bytes =
      FetchCheckpoint(marker, job_.run_uri + "/checkpoints", directory, call_, wanted, given_up);
  if (!bytes.ok() && IsUseless(bytes.status())) {
    const Lock lock(bucket_mutex_);
    RETURN_IF_ERROR(bucket_.Condemn(marker.Name()));
    return Status(Code::kUnavailable, StrCat(bytes.status().message(), "; another checkpoint is taken"));
  }
  RETURN_IF_ERROR(bytes.status());
  if (installed) return {};
  fetched_ += *bytes;
  return Install(marker, directory);
}

Status SliceCheckpoints::Install(const CheckpointMarker& marker, const std::string& incoming) const {
  // Here the files of all parts are in one directory.
  Json json = marker.ToJson();
  json.Remove("parts");
  json["files"] = FilesToJson(marker.AllFiles());
  if (marker.pinned.empty()) json.Remove("best");
  if (marker.by_parts()) {
    json["host"] = job_.position.host;
    json["fetched"] = true;
  }
  return InstallCheckpoint(directory_, marker.step, json, incoming);
}

void SliceCheckpoints::Answer(const Json& need) {
  {
    const Lock lock(mutex_);
    needs_.push_back(need);
  }
  changed_.NotifyAll();
}

void SliceCheckpoints::AnswerLoop(const std::stop_token& stop) {
  while (true) {
    Json need;
    {
      Lock lock(mutex_);
      (void)changed_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return !needs_.empty(); });
      if (stop.stop_requested()) return;
      need = std::move(needs_.front());
      needs_.pop_front();
    }
    const std::string id(need["id"].AsString());
    if (!StaysBelow(id) || id.find('/') != std::string::npos) continue;
    const Lock fetching(fetch_mutex_);
    if (need["attempt"].AsInt() != attempt_) continue;
    const Json answer = FetchNeeded(need, stop);
    std::error_code error;
    fs::create_directories(directory_.Path("answers"), error);
    const Status written = directory_.Write(StrCat("answers/", id, ".json"), answer);
    if (!written.ok()) call_.log(Level::kWarning, StrCat("a trainer waits: ", written.message()));
  }
}

Json SliceCheckpoints::FetchNeeded(const Json& need, const std::stop_token& stop) {
  Json answer;
  answer["id"] = need["id"];
  std::set<std::string> names;
  if (need["files"].is_array())
    for (const Json& name : need["files"].AsArray()) names.emplace(name.AsString());
  const std::int64_t step = need["step"].AsInt(-1);
  CheckpointMarker marker;
  {
    const Lock lock(bucket_mutex_);
    if (const auto found = markers_.find(step); found != markers_.end()) marker = found->second;
  }
  std::set<std::string> known;
  for (const FileFacts& file : marker.AllFiles()) known.insert(file.name);
  Result<std::uint64_t> bytes = std::uint64_t{0};
  if (!std::includes(known.begin(), known.end(), names.begin(), names.end()))
    bytes = Status(Code::kInternal, StrCat("the checkpoint at step ", step,
                                           " has not all files that the trainer needs [this is a bug]"));
  else
    bytes = FetchCheckpoint(
        marker, job_.run_uri + "/checkpoints", directory_.Path(StepName(step)), call_,
        [&names](const std::string& name) { return names.contains(name); },
        [&] { return stop.stop_requested() || attempt_ != need["attempt"].AsInt(); });
  if (bytes.ok()) {
    fetched_ += *bytes;
    return answer;
  }
  if (IsUseless(bytes.status())) {
    const Lock lock(bucket_mutex_);
    (void)bucket_.Condemn(marker.Name());
  }
  answer["code"] = bytes.status().code() == Code::kInternal ? kExitBug : kExitTryAgain;
  answer["error"] = std::string(bytes.status().message());
  return answer;
}

}  // namespace pipeline
