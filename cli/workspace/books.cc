#include "cli/workspace/books.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "dag/home/home_log.h"
#include "dag/home/scratch.h"
#include "storage/local_store.h"
#include "storage/remote/open_store.h"

namespace pipeline {

namespace {

constexpr std::string_view kRunsPrefix = "runs/";
constexpr std::string_view kRecordEnd = "/events.jsonl";  // of the name of a record: cli/report/run_record.md

std::string RunOf(const ObjectInfo& object) {
  const std::size_t end = object.name.find('/', kRunsPrefix.size());
  return object.name.substr(kRunsPrefix.size(), end - kRunsPrefix.size());
}

/// Brings the records of the runs in `log` to the scratch.
void FetchRecords(const WorkPlace& place, const RunLog& log) {
  const WorkDir directory = place.directory();
  const Result<std::unique_ptr<Store>> home = OpenStore(place.home);
  Status fetched = home.status();
  if (fetched.ok() && log.Runs().empty()) {
    // A run by workers has a record before it is in the log.
    const Result<std::vector<ObjectInfo>> records = (*home)->List(kRunsPrefix);
    if (records.ok() && records->empty()) return;
  }
  if (fetched.ok()) fetched = ClaimScratch(directory, place.home);
  if (fetched.ok()) fetched = FetchRuns(**home, directory, kMostRuns);
  if (!fetched.ok())
    LogWarning(
        StrCat(place.home, "/", kRunsPrefix, ": records of runs are missing here: ", fetched.message()));
}

}  // namespace

Result<std::unique_ptr<RunLog>> ReadRunLog(const WorkPlace& place) {
  const WorkDir directory = place.directory();
  if (!place.is_remote()) {
    RETURN_IF_ERROR(CheckNoScratch(directory));
    return RunLog::OpenReadOnly(directory.log());
  }
  RETURN_IF_ERROR(CheckScratch(directory, place.home));
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> home, OpenStore(place.home));
  ASSIGN_OR_RETURN(HomeLogText found, ReadHomeLog(*home));
  return RunLog::OpenText(place.home, std::move(found.text));
}

std::optional<Books> OpenBooks(const WorkPlace& place) {
  Result<std::unique_ptr<RunLog>> log = ReadRunLog(place);
  if (!log.ok()) {
    LogError(log.status().message());
    return std::nullopt;
  }
  if (place.is_remote()) FetchRecords(place, **log);
  return Books{place.home, place.directory(), std::move(*log)};
}

Status FetchRuns(Store& home, const WorkDir& scratch, std::size_t most, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, home.List(kRunsPrefix));
  std::set<std::string> runs;  // their names begin with the time of their start
  for (const ObjectInfo& object : objects) runs.insert(RunOf(object));
  while (runs.size() > most) runs.erase(runs.begin());
  LocalStore local(scratch.path());
  std::set<std::string> renewed;
  for (const ObjectInfo& object : objects) {
    if (!runs.contains(RunOf(object))) continue;
    ASSIGN_OR_RETURN(const std::optional<ObjectInfo> here, local.Stat(object.name));
    // A record only grows. One that came here while its run went on has no end, nor has the page of it.
    const bool is_old = here && object.name.ends_with(kRecordEnd) && here->size < object.size;
    if (is_old) renewed.insert(RunOf(object));
    if (here && !renewed.contains(RunOf(object))) continue;
    Result<std::string> bytes = ReadObject(home, object, object.size, stop);
    if (bytes.status().code() == Code::kNotFound) continue;
    if (!bytes.ok()) return std::move(bytes).status();
    RETURN_IF_ERROR(WriteObject(local, object.name, *bytes, Condition::ReplaceAny()).status());
  }
  return {};
}

Status SendRun(const WorkDir& scratch, const std::string& id, Store& home, const std::stop_token& stop) {
  LocalStore local(scratch.path());
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> files, local.List(StrCat(kRunsPrefix, id, "/")));
  for (const ObjectInfo& file : files) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteFile> bytes, local.Open(file.name));
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> object,
                     home.Create(file.name, Condition::ReplaceAny()));
    RETURN_IF_ERROR(object->AppendFile(*bytes, stop));
    RETURN_IF_ERROR(object->Commit(stop).status());
  }
  return {};
}

}  // namespace pipeline
