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
#include "plugins/train/model/named_run.h"
#include "plugins/train/object_files.h"
#include "plugins/train/train_job.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCurves = "tensorboard";
constexpr const char* kRuns = "runs";
constexpr const char* kJobName = "job.json";
constexpr std::size_t kFolderDigits = 16;
constexpr std::uint64_t kLooksForRuns = 6;  // one of so many looks searches for new runs in a bucket

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

/// A file that another process writes at this moment begins with a dot.
bool IsTemporary(std::string_view name) { return name.substr(name.rfind('/') + 1).starts_with('.'); }

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
  const Result<std::vector<std::string>> copies = FilesBelow(to);
  if (!copies.ok()) return {};  // there is none yet, or another process removes one
  for (const std::string& name : *copies)
    if (!names.contains(name) && !IsTemporary(name)) RETURN_IF_ERROR(RemoveAll(StrCat(to, "/", name)));
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
  const std::vector<std::string> found = RunsHere(place.uri);
  if (found.empty() && !place.may_come) return NoRun(place.uri);
  for (const std::string& run : found) runs.emplace(run, CurvesHere(run));
  return {};
}

Result<std::vector<std::string>> RunCurves::RunsElsewhere(const Place& place) const {
  const Result<std::uint64_t> job = call_.storage->Size(StrCat(place.uri, "/", kJobName));
  if (job.ok()) return std::vector<std::string>{place.uri};
  if (job.status().code() != Code::kNotFound) return job.status();
  const std::string below = StrCat(place.uri, "/", kRuns);
  ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects, call_.storage->List(below));
  std::set<std::string> runs;
  for (const PluginStorage::Object& object : objects)
    if (const std::size_t slash = object.name.find('/'); slash != 0 && slash != std::string::npos)
      runs.insert(StrCat(below, "/", object.name.substr(0, slash)));
  return std::vector<std::string>(runs.begin(), runs.end());
}

Status RunCurves::FindElsewhere(const Place& place, Runs& runs) {
  // A list of all runs has their checkpoints, too.
  std::vector<std::string>& known = known_[place.uri];
  if (known.empty() || looks_ % kLooksForRuns == 0) {
    ASSIGN_OR_RETURN(known, RunsElsewhere(place));
  }
  if (known.empty() && !place.may_come) return NoRun(place.uri);
  for (const std::string& run : known) {
    const std::string from = StrCat(run, "/", kCurves), copy = StrCat(copies_, "/", ShortDigest(run));
    ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects, call_.storage->List(from));
    RETURN_IF_ERROR(CopyCurves(objects, from, copy, *call_.storage));
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
  ++looks_;
  for (const Place& place : places_)
    RETURN_IF_ERROR(IsElsewhere(place.uri) ? FindElsewhere(place, runs) : FindHere(place, runs));
  std::error_code error;
  std::erase_if(runs, [&](const auto& run) { return !fs::is_directory(run.second, error); });
  RETURN_IF_ERROR(Link(runs));
  return runs.size();
}

}  // namespace pipeline
