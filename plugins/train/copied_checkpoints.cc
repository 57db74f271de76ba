#include "plugins/train/copied_checkpoints.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/str.h"
#include "base/words.h"
#include "plugins/train/bucket_checkpoints.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/fetch_files.h"
#include "plugins/train/object_files.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostList = 64 << 20;
constexpr std::string_view kListEnd = ".json";
constexpr const char* kCopied = "copied";  // behind kIncoming

std::string ListOf(std::int64_t step) { return StrCat("checkpoints/", step, ".json"); }

void WarnOfDamage(const PluginServices& call, const std::string& where, const Status& why) {
  call.log(Level::kWarning, StrCat(where, ": damaged, and left as it is: ", why.message()));
}

/// True: it was brought. False: it is damaged or gone, and a warning names it.
Result<bool> Came(const Status& brought, const std::string& where, const PluginServices& call) {
  if (!brought.ok() && !IsUseless(brought)) return brought;
  if (!brought.ok()) WarnOfDamage(call, where, brought);
  return brought.ok();
}

/// Objects with the lists of checkpoints in the form of a directory, by step, newest first.
using Lists = std::map<std::int64_t, std::string, std::greater<>>;

Result<Lists> ListsAt(const std::string& uri, const PluginStorage& storage) {
  Lists lists;
  ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects, storage.List(uri));
  for (const PluginStorage::Object& object : objects) {
    std::string_view name = object.name;
    if (!name.ends_with(kListEnd)) continue;
    name.remove_suffix(kListEnd.size());
    if (const auto step = ParseNumber<std::int64_t>(name); step && *step >= 0)
      lists.emplace(*step, StrCat(uri, "/", object.name));
  }
  return lists;
}

/// Brings a checkpoint in the form of a bucket, which `there` saw, into `run`. IsUseless: it is damaged.
Status BringBucketForm(BucketCheckpoints& there, const CheckpointName& name, const RunDirectory& run,
                       const PluginServices& call) {
  const std::string incoming = run.Path(kIncoming + name.id);
  ASSIGN_OR_RETURN(CheckpointMarker marker, there.Open(name));
  RETURN_IF_ERROR(FetchCheckpoint(marker, there.uri(), incoming, call).status());
  marker.files = marker.AllFiles();
  marker.parts.clear();
  return InstallCheckpoint(run, name.step, marker.ToJson(), incoming);
}

/// Downloads the checkpoint whose list is the object `list`. IsUseless: it is not whole, or damaged.
Status Bring(std::int64_t step, const std::string& list, const RunDirectory& run,
             const PluginServices& call) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(*call.storage, list, kMostList));
  const Result<Json> json = Json::Parse(text);
  if (!json.ok() || IsUnfinished(*json)) return Status(Code::kDataLoss, StrCat(list, ": is no whole list"));
  ASSIGN_OR_RETURN(const CheckpointMarker marker, ReadCheckpointMarker(*json, list));
  const FetchPlan plan{.from = list.substr(0, list.size() - kListEnd.size()),
                       .files = marker.files,
                       .directory = run.Path(StrCat(kIncoming, kCopied)),
                       .what = StrCat("the checkpoint at step ", step)};
  RETURN_IF_ERROR(RemoveAll(plan.directory));
  const FetchMeans means{
      .storage = *call.storage,
      .stopped = [&call] { return call.stopped(); },
      .tell = [&](std::uint64_t done, std::uint64_t of) { TellBringing(call, plan.what, done, of); }};
  RETURN_IF_ERROR(FetchFiles(plan, means));
  return InstallCheckpoint(run, step, *json, plan.directory);
}

}  // namespace

Status TakeBucketForm(const RunDirectory& run, const PluginServices& call) {
  RETURN_IF_ERROR(ReturnAside(run));
  BucketCheckpoints there(run.Path("checkpoints"), 1, *call.storage);
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, there.Committed());
  for (const CheckpointName& name : committed) {
    if (run.Read(ListOf(name.step)).is_object()) continue;
    ASSIGN_OR_RETURN(const bool came, Came(BringBucketForm(there, name, run, call), there.Uri(name), call));
    if (!came) continue;
    call.log(Level::kInfo,
             StrCat("the checkpoint at step ", name.step, " was copied here from a bucket; the ",
                    "training goes on from the newest"));
  }
  return {};
}

Result<std::int64_t> BringDirectoryForm(const std::string& uri, const RunDirectory& run,
                                        const PluginServices& call) {
  ASSIGN_OR_RETURN(const Lists lists, ListsAt(uri, *call.storage));
  for (const auto& [step, list] : lists) {
    ASSIGN_OR_RETURN(const bool came, Came(Bring(step, list, run, call), list, call));
    if (!came) continue;
    call.log(Level::kInfo, StrCat("the checkpoint at step ", step, " was copied to ", uri,
                                  " from a disk; the training goes on from it"));
    return step;
  }
  return -1;
}

Result<bool> HasDirectoryForm(const std::string& uri, const PluginStorage& storage) {
  ASSIGN_OR_RETURN(const Lists lists, ListsAt(uri, storage));
  return !lists.empty();
}

Result<std::map<std::int64_t, CheckpointName>> CheckpointsOfRun(const std::string& uri,
                                                                const PluginStorage& storage) {
  const std::string from = uri + "/checkpoints";
  std::map<std::int64_t, CheckpointName> found;
  BucketCheckpoints there(from, 1, storage);
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, there.Committed());
  for (const CheckpointName& name : committed)
    if (there.Usable(name)) found.emplace(name.step, name);
  ASSIGN_OR_RETURN(const Lists lists, ListsAt(from, storage));
  for (const auto& [step, list] : lists) {
    ASSIGN_OR_RETURN(const Json told, ReadJson(storage, list));
    if (!told.is_object() || IsUnfinished(told)) continue;
    // The part of a host has no marker: the other hosts have the rest.
    const Result<CheckpointMarker> marker = ReadCheckpointMarker(told, list);
    if (marker.ok()) found.insert_or_assign(step, marker->Name());
  }
  return found;
}

Result<bool> BringFromRun(const std::string& uri, std::int64_t step, Beside beside, const RunDirectory& run,
                          const PluginServices& call) {
  const std::string from = uri + "/checkpoints";
  bool found = false;
  ASSIGN_OR_RETURN(const Lists lists, ListsAt(from, *call.storage));
  for (const auto& [at, list] : lists) {
    if (at > step || (at < step && beside == Beside::kNone)) continue;
    ASSIGN_OR_RETURN(const Json told, ReadJson(*call.storage, list));
    if (at < step && told["pinned"].AsArray().empty()) continue;
    ASSIGN_OR_RETURN(const bool came, Came(Bring(at, list, run, call), list, call));
    found = found || (came && at == step);
  }
  if (found) return true;
  BucketCheckpoints there(from, 1, *call.storage);
  ASSIGN_OR_RETURN(const std::vector<CheckpointName> committed, there.Committed());
  std::vector<CheckpointName> pinned;
  if (beside == Beside::kPinned) {
    ASSIGN_OR_RETURN(pinned, there.Pinned());
  }
  for (const CheckpointName& name : committed) {
    const bool is_pinned = std::find(pinned.begin(), pinned.end(), name) != pinned.end();
    if (name.step > step || (name.step < step && !is_pinned)) continue;
    ASSIGN_OR_RETURN(const bool came, Came(BringBucketForm(there, name, run, call), there.Uri(name), call));
    found = found || (came && name.step == step);
  }
  return found;
}

}  // namespace pipeline
