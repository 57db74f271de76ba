#include "plugins/train/bucket_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/in_parallel.h"
#include "base/str.h"
#include "plugins/train/fetch_files.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSpooledAtOnce = 4;  // each has a file of the spool
constexpr std::uint64_t kMostMarker = 64 << 20;
constexpr std::string_view kDamaged = ".damaged";  // after STEP/ID
/// The bundled trainer keeps its arrays there; the folders of markers have no such name.
constexpr const char* kStateFolder = "state";

}  // namespace

BucketCheckpoints::BucketCheckpoints(std::string uri, std::int64_t keep, const PluginStorage& storage)
    : uri_(std::move(uri)),
      keep_(static_cast<std::size_t>(std::max<std::int64_t>(keep, 1))),
      storage_(storage) {}

Status BucketCheckpoints::Look(const std::string& folder) {
  const std::string above = folder.empty() ? std::string() : folder + "/";
  ASSIGN_OR_RETURN(std::vector<PluginStorage::Object> listed,
                   storage_.List(folder.empty() ? uri_ : StrCat(uri_, "/", folder)));
  objects_.clear();
  records_.clear();
  for (PluginStorage::Object& object : listed) {
    object.name.insert(0, above);
    if (ParseCheckpointObject(object.name))
      objects_.emplace(object.name, object.bytes);
    else if (const auto step = StepOfPartRecord(object.name))
      records_.emplace(object.name, *step);
    else if (object.name.ends_with(kDamaged))
      unusable_.insert(object.name.substr(0, object.name.size() - kDamaged.size()));
  }
  return {};
}

Result<std::vector<CheckpointName>> BucketCheckpoints::Committed() {
  RETURN_IF_ERROR(Look());
  std::vector<CheckpointName> found;
  for (const auto& [name, bytes] : objects_)
    if (const auto object = ParseCheckpointObject(name); object->file.empty())
      found.push_back(object->checkpoint);
  std::sort(found.begin(), found.end(), [](const CheckpointName& a, const CheckpointName& b) {
    return std::tie(a.step, a.id) > std::tie(b.step, b.id);
  });
  return found;
}

Result<CheckpointMarker> BucketCheckpoints::Open(const CheckpointName& name) {
  const std::string where = StrCat(uri_, "/", name.Marker());
  Result<std::string> text = ReadText(storage_, where, kMostMarker);
  if (!text.ok()) return std::move(text).status();
  Result<CheckpointMarker> marker = ParseCheckpointMarker(*text, where);
  if (marker.ok() && !(marker->Name() == name))
    marker = Status(Code::kDataLoss, StrCat(where, ": names other files than its own name says"));
  if (marker.ok())
    if (Status whole = CheckObjects(*marker); !whole.ok()) marker = std::move(whole);
  if (!marker.ok()) Pass(name);
  if (marker.ok()) Learn(*marker);
  return marker;
}

Status BucketCheckpoints::CheckObjects(const CheckpointMarker& marker) const {
  for (const CheckpointMarker::Folder& folder : marker.Folders())
    for (const FileFacts& file : *folder.files) {
      const auto there = objects_.find(StrCat(folder.path, "/", file.name));
      if (there != objects_.end() && there->second == file.bytes) continue;
      return Status(Code::kDataLoss, StrCat(uri_, "/", folder.path, "/", file.name,
                                            there == objects_.end() ? ": is gone" : ": has another length"));
    }
  return {};
}

void BucketCheckpoints::Learn(const CheckpointMarker& marker) {
  Known known{marker.pinned, {}};
  for (const CheckpointMarker::Folder& folder : marker.Folders()) known.folders.push_back(folder.path);
  known_[marker.Name().Path()] = std::move(known);
}

Result<std::vector<std::string>> BucketCheckpoints::PinsOf(const CheckpointName& name) {
  ASSIGN_OR_RETURN(Known known, KnownOf(name));
  return std::move(known.pins);
}

Result<BucketCheckpoints::Known> BucketCheckpoints::KnownOf(const CheckpointName& name) {
  if (const auto known = known_.find(name.Path()); known != known_.end()) return known->second;
  const std::string where = StrCat(uri_, "/", name.Marker());
  const Result<std::string> text = ReadText(storage_, where, kMostMarker);
  // A checkpoint that is gone or unreadable need not be kept.
  if (!text.ok() && text.status().code() != Code::kNotFound) return text.status();
  const Result<CheckpointMarker> marker = ParseCheckpointMarker(text.ok() ? *text : std::string(), where);
  if (!marker.ok()) return known_[name.Path()] = Known{{}, {name.Path()}};
  Learn(*marker);
  return known_[name.Path()];
}

Result<std::map<std::string, CheckpointName>> BucketCheckpoints::PinnedOf(
    const std::vector<CheckpointName>& committed) {
  std::map<std::string, CheckpointName> pinned;
  for (const CheckpointName& name : committed) {
    if (unusable_.contains(name.Path())) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> pins, PinsOf(name));
    for (const std::string& pin : pins) pinned.emplace(pin, name);
  }
  return pinned;
}

Result<std::vector<CheckpointName>> BucketCheckpoints::Pinned() {
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, Committed());
  ASSIGN_OR_RETURN(const auto pinned, PinnedOf(committed));
  std::vector<CheckpointName> found;
  for (const auto& [pin, name] : pinned)
    if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  std::sort(found.begin(), found.end(),
            [](const CheckpointName& a, const CheckpointName& b) { return a.step < b.step; });
  return found;
}

Status BucketCheckpoints::Commit(const CheckpointMarker& marker, const std::string& directory,
                                 const std::function<bool()>& give_up,
                                 const std::function<void()>& before_marker) {
  const CheckpointName name = marker.Name();
  RETURN_IF_ERROR(Look());
  const bool whole = objects_.contains(name.Marker()) && !unusable_.contains(name.Path());
  if (whole) return MarkChanged(marker);
  RETURN_IF_ERROR(Send(name.Path(), marker.files, directory, give_up));
  if (give_up()) return Status(Code::kCancelled, StrCat(Uri(name), ": given up"));
  if (before_marker) before_marker();
  RETURN_IF_ERROR(Mark(marker));
  unusable_.erase(name.Path());
  return {};
}

Status BucketCheckpoints::Send(const std::string& folder, const std::vector<FileFacts>& files,
                               const std::string& directory, const std::function<bool()>& give_up) {
  std::vector<const FileFacts*> missing;
  for (const FileFacts& file : files) {
    const auto there = objects_.find(StrCat(folder, "/", file.name));
    if (there != objects_.end() && there->second == file.bytes && !unusable_.contains(folder)) continue;
    // The length differs from the one in its name: somebody else wrote it, or it is damaged.
    if (there != objects_.end()) RETURN_IF_ERROR(storage_.Remove(StrCat(uri_, "/", there->first)));
    missing.push_back(&file);
  }
  return InParallel(missing.size(), kSpooledAtOnce, [&](std::size_t at) -> Status {
    const std::string& file = missing[at]->name;
    const Status put = PutFile(storage_, StrCat(directory, "/", file), StrCat(uri_, "/", folder, "/", file),
                               kCreateAlways, give_up);
    // An earlier try, whose answer was lost, sent the same bytes: its content is in the folder's name.
    return put.code() == Code::kAlreadyExists ? Status() : put;
  });
}

Status BucketCheckpoints::SendPart(const PartRecord& record, const std::string& directory,
                                   const std::function<bool()>& give_up) {
  const std::string folder = StrCat(record.step, "/", record.part.Digest());
  RETURN_IF_ERROR(Look(folder));
  RETURN_IF_ERROR(Send(folder, record.part.files, directory, give_up));
  const std::string uri = StrCat(uri_, "/", record.Name());
  const Status told = PutText(storage_, record.Encode(), uri, kCreateAlways);
  if (told.code() != Code::kAlreadyExists) return told;
  ASSIGN_OR_RETURN(const auto there, storage_.ReadWhole(uri, kMostPartRecord));  // also after a stop
  if (there && there->bytes == record.Encode()) return {};
  return Status(Code::kDataLoss, StrCat(uri, ": another start of this host has sent another part"));
}

Status BucketCheckpoints::Mark(const CheckpointMarker& marker) {
  const CheckpointName name = marker.Name();
  const ObjectRule& rule = objects_.contains(name.Marker()) ? kReplaceAlways : kCreateAlways;
  RETURN_IF_ERROR(PutText(storage_, marker.Encode(), StrCat(uri_, "/", name.Marker()), rule));
  Learn(marker);
  return {};
}

Status BucketCheckpoints::MarkChanged(const CheckpointMarker& marker) {
  if (objects_.contains(marker.Name().Marker())) {
    ASSIGN_OR_RETURN(const std::vector<std::string> pins, PinsOf(marker.Name()));
    if (pins == marker.pinned) return {};
  }
  return Mark(marker);
}

Status BucketCheckpoints::Condemn(const CheckpointName& name) {
  Pass(name);
  const Status told = PutText(storage_, "", StrCat(uri_, "/", name.Path(), kDamaged), kCreateAlways);
  return told.code() == Code::kAlreadyExists ? Status() : told;
}

Status BucketCheckpoints::MarkParts(const CheckpointMarker& marker) {
  RETURN_IF_ERROR(Look());
  RETURN_IF_ERROR(CheckObjects(marker));
  return MarkChanged(marker);
}

Status BucketCheckpoints::CopyFrom(const std::string& directory, const PluginServices& call) {
  std::map<std::int64_t, CheckpointMarker> whole;
  std::string without_list;
  std::error_code error;
  for (const std::int64_t step : StepsBelow(directory)) {
    const std::string place = StrCat(directory, "/", step), list = place + ".json";
    if (!fs::is_directory(place, error)) continue;
    if (!fs::exists(list, error)) {
      if (fs::is_directory(StrCat(place, "/", kStateFolder), error)) without_list = place;
      continue;
    }
    const Json json = ReadJsonFile(list);
    if (IsUnfinished(json)) continue;
    Result<CheckpointMarker> marker = ReadCheckpointMarker(json, list);
    if (marker.ok())
      whole.emplace(step, std::move(*marker));
    else
      call.log(Level::kWarning, StrCat(marker.status().message(), "; this checkpoint is left out"));
  }
  if (whole.empty() && !without_list.empty())
    return Status(Code::kDataLoss,
                  StrCat(without_list,
                         ": an earlier version made this checkpoint, without a list of its files; "
                         "train with `hosts: 1` until the next checkpoint, then on several hosts"));
  bool copied = whole.empty();
  for (auto at = whole.rbegin(); at != whole.rend(); ++at) {
    if (copied && at->second.pinned.empty()) continue;
    const std::string from = StrCat(directory, "/", at->first);
    call.log(Level::kInfo, StrCat(from, ": a single host made this checkpoint; it is copied for all"));
    const Status sent = Commit(at->second, from, [&] { return call.stopped(); });
    if (sent.code() == Code::kNotFound || sent.code() == Code::kDataLoss) {
      call.log(Level::kWarning, StrCat(from, ": damaged, going back to the one before: ", sent.message()));
      continue;
    }
    RETURN_IF_ERROR(sent);
    copied = true;
  }
  return copied ? Status() : NoneCanBeRead(directory, whole.size());
}

void BucketCheckpoints::Protect(std::set<std::int64_t> steps, std::int64_t unmarked_from) {
  protected_ = std::move(steps);
  unmarked_from_ = unmarked_from;
}

Status BucketCheckpoints::Prune() {
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, Committed());
  ASSIGN_OR_RETURN(const auto pinned, PinnedOf(committed));
  std::set<std::string> kept;
  for (const CheckpointName& name : committed)
    if (kept.size() < keep_ && !unusable_.contains(name.Path())) kept.insert(name.Path());
  for (const auto& [pin, name] : pinned) kept.insert(name.Path());
  for (const CheckpointName& name : committed)
    if (kept.contains(name.Path())) RETURN_IF_ERROR(Unpin(name, pinned));
  return RemoveAllBut(committed, kept);
}

/// If a newer checkpoint has this one's name, this one no longer exists.
Status BucketCheckpoints::Unpin(const CheckpointName& name,
                                const std::map<std::string, CheckpointName>& pinned) {
  ASSIGN_OR_RETURN(const std::vector<std::string> pins, PinsOf(name));
  const auto elsewhere = [&](const std::string& pin) { return !(pinned.at(pin) == name); };
  if (std::none_of(pins.begin(), pins.end(), elsewhere)) return {};
  ASSIGN_OR_RETURN(CheckpointMarker marker, Open(name));
  std::erase_if(marker.pinned, elsewhere);
  return Mark(marker);
}

Result<CheckpointName> BucketCheckpoints::RemoveBeyond(std::int64_t step) {
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, Committed());
  std::set<std::string> kept;
  CheckpointName newest;
  for (const CheckpointName& name : committed) {
    if (name.step > step) continue;
    if (kept.empty()) newest = name;
    kept.insert(name.Path());
  }
  RETURN_IF_ERROR(RemoveAllBut(committed, kept));
  return newest;
}

Status BucketCheckpoints::RemoveAllBut(const std::vector<CheckpointName>& committed,
                                       const std::set<std::string>& kept) {
  // A marker is removed before its objects, so a checkpoint with a marker is whole.
  std::set<std::string> folders;  // that stay
  std::set<std::int64_t> steps;   // with a marker that stays
  for (const CheckpointName& name : committed) {
    if (!kept.contains(name.Path()) && !protected_.contains(name.step)) {
      RETURN_IF_ERROR(storage_.Remove(StrCat(uri_, "/", name.Marker())));
      continue;
    }
    ASSIGN_OR_RETURN(const Known known, KnownOf(name));
    folders.insert(known.folders.begin(), known.folders.end());
    steps.insert(name.step);
  }
  const auto stays = [&](std::int64_t step) { return protected_.contains(step) || step >= unmarked_from_; };
  std::vector<std::string> rest;
  for (const auto& [name, bytes] : objects_) {
    const auto object = ParseCheckpointObject(name);
    if (!object->file.empty() && !folders.contains(object->checkpoint.Path()) &&
        !stays(object->checkpoint.step))
      rest.push_back(name);
  }
  for (const auto& [name, step] : records_)
    if (!steps.contains(step) && !stays(step)) rest.push_back(name);
  return InParallel(rest.size(), kSpooledAtOnce,
                    [&](std::size_t at) { return storage_.Remove(StrCat(uri_, "/", rest[at])); });
}

Result<std::uint64_t> FetchCheckpoint(const CheckpointMarker& marker, const std::string& uri,
                                      const std::string& directory, const PluginServices& call,
                                      const FileTest& wanted, const std::function<bool()>& given_up) {
  std::vector<FetchPlan> plans;
  std::uint64_t all = 0;
  for (const CheckpointMarker::Folder& folder : marker.Folders()) {
    FetchPlan plan;
    plan.from = StrCat(uri, "/", folder.path);
    plan.directory = directory;
    plan.what = StrCat("the checkpoint at step ", marker.step);
    for (const FileFacts& file : *folder.files)
      if (!wanted || wanted(file.name)) {
        plan.files.push_back(file);
        all += file.bytes;
      }
    plans.push_back(std::move(plan));
  }
  std::uint64_t before = 0;  // bytes of the folders that are here
  for (const FetchPlan& plan : plans) {
    const PluginStorage& storage = *call.storage;
    const FetchMeans means{.storage = storage,
                           .stopped = [&] { return call.stopped() || (given_up && given_up()); },
                           .tell = [&](std::uint64_t done,
                                       std::uint64_t) { TellBringing(call, plan.what, before + done, all); }};
    RETURN_IF_ERROR(FetchFiles(plan, means));
    for (const FileFacts& file : plan.files) before += file.bytes;
  }
  return all;
}

Status InstallCheckpoint(const RunDirectory& run, std::int64_t step, const Json& list,
                         const std::string& incoming) {
  const std::string name = StrCat("checkpoints/", step), place = run.Path(name);
  std::error_code error;
  fs::create_directories(run.Path("checkpoints"), error);
  // Half a directory must not have its list. What was there goes last: it may be the only copy.
  const std::string aside = run.Path(StrCat(kAside, step));
  RETURN_IF_ERROR(run.Remove(name + ".json"));
  if (fs::exists(place, error)) {
    RETURN_IF_ERROR(RemoveAll(aside));
    fs::rename(place, aside, error);
    if (error) return SystemError(place, error.value());
  }
  RETURN_IF_ERROR(run.Write(name + ".json", list));
  fs::rename(incoming, place, error);
  return error ? SystemError(place, error.value()) : RemoveAll(aside);
}

Status ReturnAside(const RunDirectory& run) {
  for (const std::string& name : NamesIn(run.Path(""))) {
    if (!name.starts_with(kAside)) continue;
    const std::string step = name.substr(std::string_view(kAside).size());
    const std::string place = run.Path("checkpoints/" + step), aside = run.Path(name);
    std::error_code error;
    if (fs::exists(place, error)) {
      RETURN_IF_ERROR(RemoveAll(aside));
      continue;
    }
    RETURN_IF_ERROR(run.Remove(StrCat("checkpoints/", step, ".json")));
    fs::rename(aside, place, error);
    if (error) return SystemError(aside, error.value());
  }
  return {};
}

}  // namespace pipeline
