#include "plugins/train/model/named_run.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "base/str.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/model_file.h"
#include "plugins/train/object_files.h"
#include "plugins/train/train_job.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFetched = ".pipe/fetched";
constexpr const char* kExport = "export/";
constexpr std::uint64_t kMostManifest = 256 << 20;
/// The files of an export that each program about a model opens, beside that of its tokenizer.
constexpr std::string_view kModel = "model.safetensors";
constexpr std::array<std::string_view, 2> kNeeded = {kModel, "pipe.json"};

Status Absent(std::string why) { return Status(Code::kNotFound, std::move(why)); }
Status Wrong(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

bool HoldsRun(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / "job.json", error);
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Returns the files of an export that `directory` lacks, the first first.
std::vector<std::string> LackedOf(const std::string& directory) {
  const auto there = [&](std::string_view name) { return IsFile(StrCat(directory, "/", name)); };
  std::vector<std::string> lacked;
  for (const std::string_view name : kNeeded)
    if (!there(name)) lacked.emplace_back(name);
  if (std::none_of(kTokenizerFiles.begin(), kTokenizerFiles.end(), there))
    lacked.push_back(StrCat(kTokenizerFiles[0], " or ", kTokenizerFiles[1]));
  return lacked;
}

Status Unfinished(const std::string& run) {
  return Absent(
      StrCat(run,
             ": its training has not ended; `pipe run FILE` goes on with it, and `pipe export` exports a "
             "checkpoint"));
}

std::string ExportAgain(const std::string& run) {
  return StrCat("remove ", run, "/result.json and run the pipeline: it is exported again");
}

/// Checks that the export in `directory` is there. `run`: the place as a person knows it.
Status CheckExport(const std::string& directory, const std::string& run, bool ended) {
  const std::string place = directory + "/export";
  if (!ended && !IsFile(StrCat(place, "/", kModel))) return Unfinished(run);
  const std::vector<std::string> lacked = LackedOf(place);
  if (lacked.size() > kNeeded.size())
    return Absent(StrCat(run,
                         ": its training has ended without an export; give the stage `train` "
                         "`export: true`, or remove ",
                         run, "/result.json if it has that, and run the pipeline"));
  if (lacked.empty()) return {};
  return Absent(StrCat(run, "/", kExport, lacked.front(), ": is missing; ", ExportAgain(run)));
}

/// Brings the export of a run in a bucket here; returns the directory above it.
Result<std::string> BringExport(const std::string& run, const std::string& cache,
                                const PluginServices& call) {
  const Result<std::string> brought =
      BringArtifact(run, run + "/MANIFEST.json", {kExport}, cache, "the model", call);
  if (brought.ok()) return *brought;
  ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects, call.storage->List(run));
  const bool ended = std::any_of(objects.begin(), objects.end(), [](const PluginStorage::Object& object) {
    return object.name == "MANIFEST.json";
  });
  return ended ? brought.status() : Unfinished(run);
}

}  // namespace

std::string CacheOf(const CommandWords& words) { return words.Flag("--cache", kFetched); }

std::vector<std::string> RunsHere(const std::string& place) {
  if (HoldsRun(place)) return {place};
  std::vector<std::string> found;
  const fs::path below = fs::path(place) / "runs";
  for (const std::string& name : NamesIn(below.string()))
    if (HoldsRun(below / name)) found.push_back((below / name).string());
  return found;
}

Result<std::string> FindRun(const std::string& place) {
  std::error_code error;
  fs::path newest;
  fs::file_time_type at_newest;
  for (const std::string& run : RunsHere(place)) {
    const fs::file_time_type time = fs::last_write_time(run + "/job.json", error);
    if (newest.empty() || time > at_newest) newest = run, at_newest = time;
  }
  if (!newest.empty()) return newest.string();
  return Absent(fs::exists(place, error)
                    ? StrCat(place,
                             ": no run directory: neither job.json nor runs/*/job.json is there; name the "
                             "location that a stage `train` published to")
                    : StrCat(place, ": does not exist; name the location that a stage `train` published to"));
}

Result<std::string> FindRunElsewhere(const std::string& place, Meant meant, const PluginStorage& storage) {
  constexpr std::string_view kJob = "/job.json", kResult = "/result.json", kRuns = "runs/";
  ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects, storage.List(place));
  std::map<std::string, bool> found;  // by the URI of a run: whether it is finished
  for (const PluginStorage::Object& object : objects) {
    if (object.name == kJob.substr(1)) return place;
    const std::string_view name = object.name;
    if (std::count(name.begin(), name.end(), '/') != 2 || !name.starts_with(kRuns)) continue;
    const std::string run = StrCat(place, "/", name.substr(0, name.rfind('/')));
    if (name.ends_with(kJob)) found.emplace(run, false);
    if (name.ends_with(kResult)) found.insert_or_assign(run, true);
  }
  std::vector<std::string> runs, those;
  for (const auto& [run, finished] : found) {
    runs.push_back(run);
    if (finished == (meant == Meant::kFinished)) those.push_back(run);
  }
  if (those.size() == 1) return those.front();
  if (runs.size() == 1) return runs.front();
  std::string all;
  for (const std::string& run : runs) all += StrCat(all.empty() ? "" : ", ", run);
  return runs.empty() ? Absent(StrCat(
                            place,
                            ": no run: neither job.json nor runs/*/job.json is there; name the location that "
                            "a stage `train` published to"))
                      : Wrong(StrCat(place, ": holds several runs; name one: ", all));
}

Status CheckFiles(const std::string& directory, const WantedFile& wanted, std::string_view what,
                  std::string_view remedy, const PluginServices& call) {
  const std::string path = directory + "/MANIFEST.json";
  std::error_code error;
  if (!fs::exists(path, error)) {
    call.log(Level::kWarning,
             StrCat(directory, ": has no manifest yet, so that its ", what, " cannot be checked"));
    return {};
  }
  ASSIGN_OR_RETURN(const std::string text,
                   ReadText(*call.storage, fs::absolute(path).string(), kMostManifest));
  const Result<Json> manifest = Json::Parse(text);
  if (!manifest.ok())
    return Status(Code::kDataLoss, StrCat(path, ": is not JSON: ", manifest.status().message()));
  ASSIGN_OR_RETURN(const std::vector<FileFacts> files, FilesOfManifest(*manifest, path));
  for (const FileFacts& file : files) {
    if (!wanted(file.name)) continue;
    if (!IsFile(StrCat(directory, "/", file.name)))
      return Absent(StrCat(directory, "/", file.name, ": is missing; ", remedy));
    ASSIGN_OR_RETURN(const FileFacts found,
                     MeasureFile(directory, file.name, [&] { return call.stopped(); }));
    if (found == file) continue;
    return Status(Code::kDataLoss, StrCat(directory, "/", file.name, ": has ", found.bytes,
                                          " bytes of CRC-32C ", ShownCrc(found), ", and the manifest says ",
                                          file.bytes, " of ", ShownCrc(file), "; ", remedy));
  }
  return {};
}

Result<std::string> FindPythonFor(const CommandWords& words) {
  Result<std::string> python = FindPython(words.Flag("--environment", kDefaultEnvironment));
  std::error_code error;
  if (python.ok()) return python;
  return Absent(StrCat(words.flags.contains("--environment") || fs::exists(kDefaultEnvironment, error)
                           ? ""
                           : "without --environment, the one in the current folder is meant: ",
                       python.status().message()));
}

Result<NamedRun> BringRun(const std::string& place, const CommandWords& words, const PluginServices& call) {
  std::string at = place;
  const bool elsewhere = IsElsewhere(at);
  while (elsewhere && at.ends_with('/')) at.pop_back();
  const bool is_export = !elsewhere && !HoldsRun(at) && LackedOf(at).empty();
  std::string run = at;
  if (!is_export) {
    ASSIGN_OR_RETURN(run, elsewhere ? FindRunElsewhere(at, Meant::kFinished, *call.storage) : FindRun(at));
  }
  if (!elsewhere && !is_export) RETURN_IF_ERROR(CheckExport(run, run, IsFile(run + "/result.json")));
  ASSIGN_OR_RETURN(std::string python, FindPythonFor(words));
  if (elsewhere) {
    ASSIGN_OR_RETURN(const std::string brought, BringExport(run, CacheOf(words), call));
    RETURN_IF_ERROR(CheckExport(brought, run, true));
    run = brought;
  } else if (!is_export) {
    RETURN_IF_ERROR(CheckFiles(
        run, [](std::string_view name) { return name.starts_with(kExport); }, "export", ExportAgain(run),
        call));
  }
  return NamedRun{fs::absolute(run).string(), std::move(python)};
}

}  // namespace pipeline
