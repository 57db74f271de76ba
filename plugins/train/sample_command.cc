#include "plugins/train/sample_command.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/str.h"
#include "plugins/train/command_table.h"
#include "plugins/train/command_words.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/input_cache.h"
#include "plugins/train/train_job.h"
#include "plugins/train/trainer_environment.h"
#include "plugins/train/trainer_output.h"

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

/// The number of a flag, as the user wrote it; wrong words are reported here, before anything starts.
Status CheckNumber(const CommandWords& words, std::string_view flag, double least, double most, bool whole) {
  const auto found = words.flags.find(flag);
  if (found == words.flags.end()) return {};
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  const bool number = !found->second.empty() && *end == '\0' && value >= least && value <= most;
  const bool digits = found->second.find_first_not_of("0123456789") == std::string::npos;
  if (number && (digits || !whole)) return {};
  return Wrong(StrCat(flag, ": '", found->second, "' is no ", whole ? "whole " : "", "number from ",
                      static_cast<std::int64_t>(least), " to ", static_cast<std::int64_t>(most)));
}

/// Checks the export of a local run against the manifest beside it, as a downloaded export is checked.
Status CheckExport(const std::string& run, const HostCall& call) {
  const std::string path = run + "/MANIFEST.json";
  std::error_code error;
  if (!fs::exists(path, error)) {
    call.Log(Level::kWarning, StrCat(run, ": has no manifest yet, so its export is not checked"));
    return {};
  }
  ASSIGN_OR_RETURN(const std::string text, call.storage().Read(fs::absolute(path).string(), kMostManifest));
  const Result<Json> manifest = Json::Parse(text);
  if (!manifest.ok())
    return Status(Code::kDataLoss, StrCat(path, ": is not JSON: ", manifest.status().message()));
  ASSIGN_OR_RETURN(const std::vector<FileFacts> files, FilesOfManifest(*manifest, path));
  for (const FileFacts& file : files) {
    if (!file.name.starts_with(kExport)) continue;
    ASSIGN_OR_RETURN(const FileFacts found, MeasureFile(run, file.name, [&] { return call.stopped(); }));
    if (found == file) continue;
    return Status(Code::kDataLoss,
                  StrCat(run, "/", file.name, ": has ", found.bytes, " bytes of CRC-32C ", ShownCrc(found),
                         ", and the manifest says ", file.bytes, " of ", ShownCrc(file), "; remove ", run,
                         "/result.json and run the pipeline: it is exported again"));
  }
  return {};
}

}  // namespace

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

Status RunSample(const std::vector<std::string>& arguments, const HostCall& call) {
  const TrainCommand& command = TrainCommandOf("sample");
  ASSIGN_OR_RETURN(const CommandWords words, ParseCommandWords(arguments, FlagsOf(command)));
  if (words.alone.size() != 1) return Wrong(UsageOf(command));
  RETURN_IF_ERROR(CheckNumber(words, "--length", 1, 1'000'000, true));
  RETURN_IF_ERROR(CheckNumber(words, "--temperature", 0, 100, false));
  RETURN_IF_ERROR(CheckNumber(words, "--top-p", 0, 1, false));
  RETURN_IF_ERROR(CheckNumber(words, "--seed", 0, 2147483647, true));
  std::string place = words.alone.front();
  const bool elsewhere = IsElsewhere(place);
  while (elsewhere && place.ends_with('/')) place.pop_back();
  ASSIGN_OR_RETURN(std::string run, elsewhere ? FindRunElsewhere(place, call.storage()) : FindRun(place));
  ASSIGN_OR_RETURN(const std::string python, FindPython(words.Flag("--environment", kDefaultEnvironment)));
  if (elsewhere) {
    const std::string cache = words.Flag("--cache", kFetched);
    ASSIGN_OR_RETURN(run, BringArtifact(run, run + "/MANIFEST.json", kExport, cache, "the model", call));
  } else {
    RETURN_IF_ERROR(CheckExport(run, call));
  }
  std::vector<std::string> asked = {"-m", "pipe_trainer.sample", "--run", fs::absolute(run).string()};
  for (const auto& [flag, value] : words.flags)
    if (flag != "--environment" && flag != "--cache") asked.push_back(StrCat(flag, "=", value));
  return PrintTrainer(python, std::move(asked), {}, call);
}

}  // namespace pipeline
