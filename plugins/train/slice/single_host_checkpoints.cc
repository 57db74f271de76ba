#include "plugins/train/slice/single_host_checkpoints.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "plugins/train/checkpoint_marker.h"
#include "plugins/train/run_directory.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

/// The bundled trainer keeps its arrays there; the folders of markers have no such name.
constexpr const char* kStateFolder = "state";

}  // namespace

Status CopySingleHostCheckpoints(const std::string& directory, const PluginServices& call,
                                 BucketCheckpoints& shared) {
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
    const Status sent = shared.Commit(at->second, from, [&] { return call.stopped(); });
    if (sent.code() == Code::kNotFound || sent.code() == Code::kDataLoss) {
      call.log(Level::kWarning, StrCat(from, ": damaged, going back to the one before: ", sent.message()));
      continue;
    }
    RETURN_IF_ERROR(sent);
    copied = true;
  }
  return copied ? Status() : NoneCanBeRead(directory, whole.size());
}

}  // namespace pipeline
