#include "plugins/train/model/named_run.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/str.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/train_job.h"
#include "plugins/train/trainer_environment.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFetched = ".pipe/fetched";
constexpr const char* kExport = "export/";
constexpr std::uint64_t kMostManifest = 256 << 20;

Status Wrong(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

bool HoldsRun(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / "job.json", error);
}

}  // namespace

std::string CacheOf(const CommandWords& words) { return words.Flag("--cache", kFetched); }

Result<std::string> FindRun(const std::string& place) {
  if (HoldsRun(place)) return place;
  std::error_code error;
  fs::path newest;
  fs::file_time_type at_newest;
  for (fs::directory_iterator at(fs::path(place) / "runs", error), end; !error && at != end;
       at.increment(error)) {
    if (!HoldsRun(at->path())) continue;
    const fs::file_time_type time = fs::last_write_time(at->path() / "job.json", error);
    if (newest.empty() || time > at_newest) newest = at->path(), at_newest = time;
  }
  if (!newest.empty()) return newest.string();
  return Status(Code::kNotFound,
                StrCat(place,
                       ": no run directory: neither job.json nor runs/*/job.json is there; name the "
                       "location that a stage `train` published to"));
}

Result<std::string> FindRunElsewhere(const std::string& place, const HostStorage& storage) {
  constexpr std::string_view kJob = "/job.json", kRuns = "runs/";
  ASSIGN_OR_RETURN(const std::vector<HostStorage::Object> objects, storage.List(place));
  std::vector<std::string> runs;
  for (const HostStorage::Object& object : objects) {
    if (object.name == kJob.substr(1)) return place;
    const std::string_view name = object.name;
    const auto slashes = std::count(name.begin(), name.end(), '/');
    if (slashes == 2 && name.starts_with(kRuns) && name.ends_with(kJob))
      runs.push_back(StrCat(place, "/", name.substr(0, name.size() - kJob.size())));
  }
  if (runs.size() == 1) return runs.front();
  std::string all;
  for (const std::string& run : runs) all += StrCat(all.empty() ? "" : ", ", run);
  return runs.empty()
             ? Status(Code::kNotFound, StrCat(place,
                                              ": no run: neither job.json nor runs/*/job.json is there; name "
                                              "the location that a stage `train` published to"))
             : Wrong(StrCat(place, ": holds several runs; name one: ", all));
}

Status CheckFiles(const std::string& directory, const WantedFile& wanted, std::string_view what,
                  std::string_view remedy, const HostCall& call) {
  const std::string path = directory + "/MANIFEST.json";
  std::error_code error;
  if (!fs::exists(path, error)) {
    call.Log(Level::kWarning,
             StrCat(directory, ": has no manifest yet, so that its ", what, " cannot be checked"));
    return {};
  }
  ASSIGN_OR_RETURN(const std::string text, call.storage().Read(fs::absolute(path).string(), kMostManifest));
  const Result<Json> manifest = Json::Parse(text);
  if (!manifest.ok())
    return Status(Code::kDataLoss, StrCat(path, ": is not JSON: ", manifest.status().message()));
  ASSIGN_OR_RETURN(const std::vector<FileFacts> files, FilesOfManifest(*manifest, path));
  for (const FileFacts& file : files) {
    if (!wanted(file.name)) continue;
    ASSIGN_OR_RETURN(const FileFacts found,
                     MeasureFile(directory, file.name, [&] { return call.stopped(); }));
    if (found == file) continue;
    return Status(Code::kDataLoss, StrCat(directory, "/", file.name, ": has ", found.bytes,
                                          " bytes of CRC-32C ", ShownCrc(found), ", and the manifest says ",
                                          file.bytes, " of ", ShownCrc(file), "; ", remedy));
  }
  return {};
}

Result<NamedRun> BringRun(const std::string& place, const CommandWords& words, const HostCall& call) {
  std::string at = place;
  const bool elsewhere = IsElsewhere(at);
  while (elsewhere && at.ends_with('/')) at.pop_back();
  ASSIGN_OR_RETURN(std::string run, elsewhere ? FindRunElsewhere(at, call.storage()) : FindRun(at));
  ASSIGN_OR_RETURN(std::string python, FindPython(words.Flag("--environment", kDefaultEnvironment)));
  if (elsewhere) {
    ASSIGN_OR_RETURN(
        run, BringArtifact(run, run + "/MANIFEST.json", {kExport}, CacheOf(words), "the model", call));
  } else {
    const std::string remedy =
        StrCat("remove ", run, "/result.json and run the pipeline: it is exported again");
    RETURN_IF_ERROR(CheckFiles(
        run, [](std::string_view name) { return name.starts_with(kExport); }, "export", remedy, call));
  }
  return NamedRun{fs::absolute(run).string(), std::move(python)};
}

}  // namespace pipeline
