#include "plugins/train/checkpoint_fetch.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/str.h"
#include "plugins/train/fetch_files.h"
#include "plugins/train/link_files.h"

namespace pipeline {

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
  std::filesystem::create_directories(run.Path("checkpoints"), error);
  // Half a directory must not have its list.
  RETURN_IF_ERROR(run.Remove(name + ".json"));
  RETURN_IF_ERROR(RemoveAll(place));
  RETURN_IF_ERROR(run.Write(name + ".json", list));
  std::filesystem::rename(incoming, place, error);
  return error ? SystemError(place, error.value()) : Status();
}

}  // namespace pipeline
