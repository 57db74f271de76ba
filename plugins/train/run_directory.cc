#include "plugins/train/run_directory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "plugins/train/directory_lock.h"
#include "plugins/train/event_journal.h"
#include "plugins/train/file_facts.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostFile = 64 << 20;
constexpr std::string_view kNext = "next/";  // the result that is to replace a finished one
constexpr std::int64_t kKeptAttempts = 20;   // whose logs stay

/// Returns N of "attempt-N...."; 0 for another name.
std::int64_t AttemptOf(std::string_view name) {
  constexpr std::string_view kBegin = "attempt-";
  if (!name.starts_with(kBegin)) return 0;
  name.remove_prefix(kBegin.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && number > 0 && number < (std::int64_t{1} << 40) ? number : 0;
}

}  // namespace

Result<RunDirectory> RunDirectory::Open(const std::string& path) {
  std::error_code error;
  fs::create_directories(path + "/logs", error);
  if (error) return SystemError(StrCat("making the directory ", path, "/logs"), error.value());
  Result<FileDescriptor> lock = LockDirectory(path);
  if (lock.ok()) return RunDirectory(path, std::move(*lock));
  if (lock.status().code() != Code::kUnavailable) return std::move(lock).status();
  return Status(Code::kUnavailable, StrCat(path, ": another run trains here; wait for it or stop it"));
}

std::int64_t RunDirectory::NextAttempt() const {
  std::int64_t last = LastKept(Path("events.jsonl")).attempt;  // maybe of another machine
  for (const std::string& log : NamesIn(Path("logs"))) last = std::max(last, AttemptOf(log));
  MakeRoom(last + 1);
  return last + 1;
}

void RunDirectory::MakeRoom(std::int64_t attempt) const {
  for (const std::string& log : NamesIn(Path("logs"))) {
    const std::int64_t of = AttemptOf(log);
    // After a failure one more file stays.
    if (of > 0 && (of <= attempt - kKeptAttempts || of == attempt)) (void)Remove("logs/" + log);
  }
}

std::string RunDirectory::LogPath(std::int64_t attempt, std::size_t worker, std::string_view end) const {
  return Path(StrCat("logs/attempt-", attempt, worker == 0 ? "" : StrCat(".worker-", worker), end));
}

Json ReadJsonFile(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMostFile || error) return {};
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return {};
  Result<Json> json = Json::Parse(*text);
  return json.ok() ? std::move(json).value() : Json();
}

Status RunDirectory::Write(std::string_view name, const Json& json) const {
  return WriteWholeFile(Path(name), json.DumpPretty(), Durability::kDurable);
}

Status RunDirectory::Remove(std::string_view name) const {
  const std::string path = Path(name);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return SystemError(path, errno);
}

Json AnswerOf(const Json& result, const std::vector<std::string>& objects) {
  Json answer = Json::Object{{"objects", Json::Array(objects.begin(), objects.end())}};
  Json& facts = answer["facts"] = Json(Json::Object{});
  if (result["steps"].is_int()) facts["steps"] = result["steps"];
  if (result["tokens"].is_int()) facts["tokens"] = result["tokens"];
  if (result["stopped_early"]["step"].is_int()) facts["stopped_early"] = result["stopped_early"]["step"];
  for (const auto& [name, value] : result["final"].AsObject())
    if (value.is_number()) facts["final"][name] = value;
  return answer;
}

const Json& StepsOf(const Json& result) {
  return result.Has("steps") && result["steps"].is_null() ? result["asked_steps"] : result["steps"];
}

bool ReachesSteps(const Json& result, std::int64_t steps, bool may_stop_early) {
  if (!StepsOf(result).is_int()) return false;
  if (StepsOf(result).AsInt() >= steps) return true;
  const Json& stopped = result["stopped_early"];
  return may_stop_early && stopped["step"].is_int() && stopped["step"].AsInt() == result["steps"].AsInt() &&
         stopped["reason"].is_string();
}

Status RunDirectory::BeginResult(Json job_file, bool finished) const {
  std::error_code error;
  fs::remove_all(Path(kNext), error);
  if (!error && finished) fs::create_directories(Path(kNext), error);
  if (error) return SystemError(Path(kNext), error.value());
  if (!finished) {
    RETURN_IF_ERROR(Remove("result.json"));
    return Write("job.json", job_file);
  }
  job_file["results"] = Path(kNext.substr(0, kNext.size() - 1));
  return Write(kNextJob, job_file);
}

std::string RunDirectory::NewResult(std::string_view name) const {
  std::error_code error;
  return fs::exists(Path(kNextJob), error) ? StrCat(kNext, name) : std::string(name);
}

Status RunDirectory::InstallResult() const {
  if (NewResult("job.json") == "job.json") return {};
  Json job = Read(kNextJob);
  job.Remove("results");
  const bool exported = Read(StrCat(kNext, "result.json"))["export"].is_string();
  RETURN_IF_ERROR(Remove("result.json"));
  std::error_code error;
  // After a kill the new export may be in its place already.
  if (!exported || fs::exists(Path(StrCat(kNext, "export")), error)) fs::remove_all(Path("export"), error);
  for (const char* name : {"export", "config.json", "result.json"}) {
    const std::string from = Path(StrCat(kNext, name));
    if (error || !fs::exists(from, error)) continue;
    if (name == std::string_view("result.json")) RETURN_IF_ERROR(Write("job.json", job));
    fs::rename(from, Path(name), error);
  }
  if (!error) RETURN_IF_ERROR(SyncFile(path_));
  if (!error) fs::remove_all(Path(kNext), error);
  return error ? SystemError(Path(kNext), error.value()) : Status();
}

Status RunDirectory::EndInstall() const {
  std::error_code error;
  // A finished result stays until an installation begins.
  const bool cut_off =
      fs::exists(Path(StrCat(kNext, "result.json")), error) && !fs::exists(Path("result.json"), error);
  return cut_off ? InstallResult() : Status();
}

Json RunDirectory::NewJob(std::int64_t steps) const {
  if (NewResult("").empty() || !CheckNewResult(steps, false).ok()) return {};
  Json job = Read(NewResult("job.json"));
  job.Remove("results");
  return job;
}

bool RunDirectory::HasResult() const {
  const Json result = Read("result.json");
  return StepsOf(result).is_int() && CheckResult(StepsOf(result).AsInt(), true).ok();
}

Status RunDirectory::CheckResult(std::int64_t steps, bool may_stop_early) const {
  return CheckResultIn("", steps, may_stop_early);
}

Status RunDirectory::CheckNewResult(std::int64_t steps, bool may_stop_early) const {
  return CheckResultIn(NewResult(""), steps, may_stop_early);
}

Status RunDirectory::CheckResultIn(std::string_view below, std::int64_t steps, bool may_stop_early) const {
  const std::string path = Path(StrCat(below, "result.json"));
  std::error_code error;
  const auto wrong = [&](std::string_view what) { return Status(Code::kInternal, StrCat(path, ": ", what)); };
  if (!fs::exists(path, error)) return wrong("is not there");
  const Json result = ReadJsonFile(path);
  if (!result.is_object()) return wrong("is no JSON object");
  if (!StepsOf(result).is_int()) return wrong("has no whole number `steps`");
  if (!ReachesSteps(result, steps, may_stop_early))
    return wrong(StrCat("says ", StepsOf(result).AsInt(), " steps, and ", steps, " were asked for"));
  const std::string config = Path(StrCat(below, "config.json"));
  if (!ReadJsonFile(config).is_object())
    return Status(Code::kInternal, StrCat(config, ": is no JSON object, or not there"));
  const Json& exported = result["export"];
  if (exported.is_string() && !fs::is_directory(Path(StrCat(below, "export")), error))
    return wrong("names an export, and there is no directory `export`");
  return {};
}

Result<std::vector<std::string>> RunDirectory::Objects() const {
  std::vector<std::string> objects;
  if (Read("result.json")["export"].is_string()) {
    const fs::path root = Path("export");
    std::error_code error;
    for (fs::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error))
      if (at->is_regular_file(error))
        objects.push_back(StrCat("export/", at->path().lexically_relative(root).string()));
    if (error) return SystemError(root.string(), error.value());
    std::sort(objects.begin(), objects.end());
  }
  for (const char* name : {"config.json", "job.json", "result.json"}) objects.emplace_back(name);
  return objects;
}

}  // namespace pipeline
