#include "plugins/train/model/run_curves.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "plugins/train/environment/trainer_environment.h"
#include "plugins/train/external/program_checkpoints.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/object_files.h"
#include "plugins/train/train_job.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCurves = "tensorboard";
constexpr const char* kRuns = "runs";
constexpr const char* kJobName = "job.json";
constexpr std::size_t kFolderDigits = 16;

std::string ShortDigest(std::string_view text) { return DigestOf(text).ToHex().substr(0, kFolderDigits); }

std::string LastPart(std::string_view uri) { return std::string(uri.substr(uri.rfind('/') + 1)); }

/// The directory with the curves of a run of this machine; an external trainer has no other than its own.
std::string CurvesHere(const std::string& run) {
  std::error_code error;
  std::string own = StrCat(run, "/", kCurves);
  std::string of_program = StrCat(run, "/", kProgramDirectory);
  return !fs::exists(own, error) && fs::exists(of_program, error) ? of_program : own;
}

Status CopyObject(const PluginStorage& storage, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PluginWriter> writer,
                   storage.Create(to, PluginStorage::Creation::kReplace, PluginStorage::AtStop::kEnds));
  RETURN_IF_ERROR(StreamObject(storage, from, [&](std::string_view piece) { return writer->Append(piece); }));
  return writer->Commit();
}

/// Copies the curves of one run, and removes copies of objects that are gone: scores of steps behind which
/// the training went back.
Status CopyCurves(const std::vector<PluginStorage::Object>& objects, const std::string& from,
                  const std::string& to, const PluginStorage& storage) {
  std::set<std::string> names;
  std::error_code error;
  for (const PluginStorage::Object& object : objects) {
    if (!StaysBelow(object.name)) continue;
    names.insert(object.name);
    const std::string path = StrCat(to, "/", object.name);
    if (fs::file_size(path, error) == object.bytes && !error) continue;
    const Status copied = CopyObject(storage, StrCat(from, "/", object.name), path);
    if (!copied.ok() && copied.code() != Code::kNotFound) return copied;
  }
  if (!fs::exists(to, error)) return {};
  ASSIGN_OR_RETURN(const std::vector<std::string> copies, FilesBelow(to));
  for (const std::string& name : copies)
    if (!names.contains(name)) RETURN_IF_ERROR(RemoveAll(StrCat(to, "/", name)));
  return {};
}

std::vector<RunCurves::Place> Absolute(std::vector<RunCurves::Place> places) {
  for (RunCurves::Place& place : places) {
    while (place.uri.size() > 1 && place.uri.ends_with('/')) place.uri.pop_back();
    if (!IsElsewhere(place.uri)) place.uri = AbsolutePath(place.uri);
  }
  return places;
}

std::string BoardOf(const std::string& cache, const std::vector<RunCurves::Place>& places) {
  std::string all;
  for (const RunCurves::Place& place : places) all += StrCat(place.uri, "\n");
  return StrCat(cache, "/boards/", ShortDigest(all));
}

Status NoRun(const std::string& place) {
  return Status(Code::kNotFound, StrCat(place,
                                        ": no run: neither job.json nor runs/*/job.json is there; name the "
                                        "location that a stage `train` published to, or a pipeline file"));
}

}  // namespace

RunCurves::RunCurves(const std::string& cache, std::vector<Place> places, const PluginServices& call)
    : copies_(AbsolutePath(cache) + "/curves"),
      places_(Absolute(std::move(places))),
      directory_(BoardOf(AbsolutePath(cache), places_)),
      call_(call) {}

Status RunCurves::FindHere(const Place& place, Runs& runs) const {
  std::error_code error;
  const auto is_run = [&](const std::string& run) {
    return fs::is_regular_file(StrCat(run, "/", kJobName), error);
  };
  std::vector<std::string> found;
  if (is_run(place.uri)) found.push_back(place.uri);
  const std::string below = StrCat(place.uri, "/", kRuns);
  for (const std::string& name : NamesIn(below))
    if (std::string run = StrCat(below, "/", name); is_run(run)) found.push_back(std::move(run));
  if (found.empty() && !place.may_come) return NoRun(place.uri);
  for (const std::string& run : found) runs.emplace(run, CurvesHere(run));
  return {};
}

Status RunCurves::FindElsewhere(const Place& place, Runs& runs) const {
  const Result<std::uint64_t> job = call_.storage->Size(StrCat(place.uri, "/", kJobName));
  if (!job.ok() && job.status().code() != Code::kNotFound) return job.status();
  // The objects of each run below its curves.
  std::map<std::string, std::vector<PluginStorage::Object>> found;
  if (job.ok()) {
    ASSIGN_OR_RETURN(found[place.uri], call_.storage->List(StrCat(place.uri, "/", kCurves)));
  } else {
    const std::string below = StrCat(place.uri, "/", kRuns);
    ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects, call_.storage->List(below));
    const std::string folder = StrCat("/", kCurves, "/");
    for (const PluginStorage::Object& object : objects) {
      const std::string_view name = object.name;
      const std::size_t slash = name.find('/');
      if (slash == 0 || slash == std::string_view::npos) continue;
      auto& curves = found[StrCat(below, "/", name.substr(0, slash))];
      if (name.substr(slash).starts_with(folder))
        curves.push_back({std::string(name.substr(slash + folder.size())), object.bytes});
    }
  }
  if (found.empty() && !place.may_come) return NoRun(place.uri);
  for (const auto& [run, objects] : found) {
    const std::string copy = StrCat(copies_, "/", ShortDigest(run));
    RETURN_IF_ERROR(CopyCurves(objects, StrCat(run, "/", kCurves), copy, *call_.storage));
    runs.emplace(run, copy);
  }
  return {};
}

Status RunCurves::Link(const Runs& runs) const {
  std::map<std::string, std::string> links;  // by the name that is shown
  for (const auto& [run, curves] : runs) {
    std::string name = LastPart(run);
    if (links.contains(name)) name += StrCat("-", ShortDigest(run));
    links.emplace(name, curves);
  }
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) return SystemError(directory_, error.value());
  for (const std::string& name : NamesIn(directory_))
    if (!links.contains(name)) fs::remove(StrCat(directory_, "/", name), error);
  for (const auto& [name, curves] : links) {
    const std::string link = StrCat(directory_, "/", name);
    if (fs::read_symlink(link, error) == curves && !error) continue;
    fs::remove(link, error);
    fs::create_directory_symlink(curves, link, error);
    if (error && !fs::is_symlink(link)) return SystemError(link, error.value());  // another process made it
  }
  return {};
}

Result<std::size_t> RunCurves::Refresh() {
  Runs runs;
  for (const Place& place : places_)
    RETURN_IF_ERROR(IsElsewhere(place.uri) ? FindElsewhere(place, runs) : FindHere(place, runs));
  std::error_code error;
  std::erase_if(runs, [&](const auto& run) { return !fs::is_directory(run.second, error); });
  RETURN_IF_ERROR(Link(runs));
  return runs.size();
}

}  // namespace pipeline
