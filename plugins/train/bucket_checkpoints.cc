#include "plugins/train/bucket_checkpoints.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/str.h"
#include "plugins/train/several.h"

namespace pipeline {

namespace {

constexpr std::size_t kAtOnce = 4;  // each has a file of the spool
constexpr std::uint64_t kMostMarker = 64 << 20;

}  // namespace

BucketCheckpoints::BucketCheckpoints(std::string uri, std::int64_t keep, const HostStorage& storage)
    : uri_(std::move(uri)),
      keep_(static_cast<std::size_t>(std::max<std::int64_t>(keep, 1))),
      storage_(storage) {}

Status BucketCheckpoints::Look() {
  ASSIGN_OR_RETURN(const std::vector<HostStorage::Object> listed, storage_.List(uri_));
  objects_.clear();
  for (const HostStorage::Object& object : listed)
    if (ParseCheckpointObject(object.name)) objects_.emplace(object.name, object.bytes);
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
  Result<std::string> text = storage_.Read(where, kMostMarker);
  if (!text.ok()) return std::move(text).status();
  Result<CheckpointMarker> marker = ParseCheckpointMarker(*text, where);
  if (marker.ok() && !(marker->Name() == name))
    marker = Status(Code::kDataLoss, StrCat(where, ": names other files than its own name says"));
  if (marker.ok())
    for (const FileFacts& file : marker->files) {
      const auto there = objects_.find(StrCat(name.Path(), "/", file.name));
      if (there != objects_.end() && there->second == file.bytes) continue;
      marker = Status(
          Code::kDataLoss,
          StrCat(Uri(name), "/", file.name, there == objects_.end() ? ": is gone" : ": has another length"));
      break;
    }
  if (!marker.ok()) Pass(name);
  return marker;
}

Status BucketCheckpoints::Commit(const CheckpointMarker& marker, const std::string& directory,
                                 const std::function<bool()>& give_up) {
  const CheckpointName name = marker.Name();
  RETURN_IF_ERROR(Look());
  if (objects_.contains(name.Marker()) && !unusable_.contains(name.Path())) return {};
  std::vector<const FileFacts*> missing;
  for (const FileFacts& file : marker.files) {
    const auto there = objects_.find(StrCat(name.Path(), "/", file.name));
    if (there != objects_.end() && there->second == file.bytes && !unusable_.contains(name.Path())) continue;
    // Another length than its name says: somebody's, or a damaged one's.
    if (there != objects_.end()) RETURN_IF_ERROR(storage_.Remove(StrCat(uri_, "/", there->first)));
    missing.push_back(&file);
  }
  RETURN_IF_ERROR(RunSeveral(missing.size(), kAtOnce, [&](std::size_t at) {
    return storage_.Put(StrCat(directory, "/", missing[at]->name), StrCat(Uri(name), "/", missing[at]->name),
                        PIPE_CREATE_ONLY | PIPE_AFTER_STOP, give_up);
  }));
  if (give_up()) return Status(Code::kCancelled, StrCat(Uri(name), ": given up"));
  if (objects_.contains(name.Marker())) RETURN_IF_ERROR(storage_.Remove(StrCat(uri_, "/", name.Marker())));
  RETURN_IF_ERROR(storage_.PutText(marker.Encode(), StrCat(uri_, "/", name.Marker()),
                                   PIPE_CREATE_ONLY | PIPE_AFTER_STOP));
  unusable_.erase(name.Path());
  return {};
}

Status BucketCheckpoints::Prune() {
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, Committed());
  std::set<std::string> kept;
  for (const CheckpointName& name : committed)
    if (kept.size() < keep_ && !unusable_.contains(name.Path())) kept.insert(name.Path());
  // A marker goes before what it names: whatever has one is whole.
  for (const CheckpointName& name : committed)
    if (!kept.contains(name.Path())) RETURN_IF_ERROR(storage_.Remove(StrCat(uri_, "/", name.Marker())));
  std::vector<std::string> rest;
  for (const auto& [name, bytes] : objects_) {
    const auto object = ParseCheckpointObject(name);
    if (!object->file.empty() && !kept.contains(object->checkpoint.Path())) rest.push_back(name);
  }
  return RunSeveral(rest.size(), kAtOnce,
                    [&](std::size_t at) { return storage_.Remove(StrCat(uri_, "/", rest[at])); });
}

}  // namespace pipeline
