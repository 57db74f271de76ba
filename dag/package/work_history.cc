#include "dag/package/work_history.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/in_parallel.h"
#include "base/json.h"
#include "base/str.h"
#include "dag/package/versioned_json.h"
#include "storage/remove_objects.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxHistoryBytes = 64 << 20;
constexpr std::size_t kMostName = 200;                   // bytes of a name
constexpr std::int64_t kLastTime = 253'402'300'799'999;  // the end of the year 9999

std::string Cut(std::string_view name) {
  std::size_t end = std::min(name.size(), kMostName);
  while (end > 0 && end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return std::string(name.substr(0, end));
}

std::int64_t Within(std::int64_t number, std::int64_t most) {
  return std::clamp<std::int64_t>(number, 0, most);
}

void Set(Json& json, std::string_view name, std::int64_t number) {
  if (number > 0) json[name] = number;
}

std::string PrefixOf(std::string_view run) { return StrCat(kHistoryPrefix, run, "/"); }

}  // namespace

void WorkHistory::Add(const WorkHistory& more) {
  results.insert(results.end(), more.results.begin(), more.results.end());
  lost.insert(lost.end(), more.lost.begin(), more.lost.end());
}

std::string EncodeWorkHistory(const WorkHistory& history) {
  Json::Array results, lost;
  for (const WorkHistory::Entry& entry : history.results) {
    Json json;
    json["unit"] = Cut(entry.unit);
    json["who"] = Cut(entry.who);
    Set(json, "began", Within(entry.began, kLastTime));
    Set(json, "took_ms", Within(entry.took_ms, kLongestUnit));
    Set(json, "bytes", static_cast<std::int64_t>(entry.bytes));
    Set(json, "records", static_cast<std::int64_t>(entry.records));
    results.push_back(std::move(json));
  }
  for (const WorkHistory::Loss& loss : history.lost) {
    Json json;
    json["unit"] = Cut(loss.unit);
    json["who"] = Cut(loss.who);
    json["by"] = Cut(loss.by);
    Set(json, "began", Within(loss.began, kLastTime));
    lost.push_back(std::move(json));
  }
  Json json;
  json["pipe_history"] = kPackageFormVersion;
  json["results"] = std::move(results);
  json["lost"] = std::move(lost);
  return json.Dump();
}

Result<WorkHistory> ParseWorkHistory(std::string_view text) {
  ASSIGN_OR_RETURN(const Json json, ParseVersioned(text, "pipe_history"));
  Status status;
  JsonFields fields(json, "", status);
  WorkHistory history;
  for (const Json& element : fields.Array("results")) {
    const std::string where = StrCat("results[", history.results.size(), "].");
    JsonFields parts(element, where, status);
    WorkHistory::Entry& entry = history.results.emplace_back();
    entry.unit = Cut(parts.Text("unit"));
    entry.who = Cut(parts.Text("who"));
    entry.began = Within(element["began"].AsInt(), kLastTime);
    entry.took_ms = Within(element["took_ms"].AsInt(), kLongestUnit);
    entry.bytes = element["bytes"].AsCount();
    entry.records = element["records"].AsCount();
  }
  for (const Json& element : fields.Array("lost")) {
    const std::string where = StrCat("lost[", history.lost.size(), "].");
    JsonFields parts(element, where, status);
    WorkHistory::Loss& loss = history.lost.emplace_back();
    loss.unit = Cut(parts.Text("unit"));
    loss.who = Cut(parts.Text("who"));
    loss.by = Cut(parts.Text("by"));
    loss.began = Within(element["began"].AsInt(), kLastTime);
  }
  RETURN_IF_ERROR(status);
  return history;
}

Status WriteHistory(Store& package, std::string_view run, const WorkHistory& history) {
  if (run.empty() || history.empty()) return {};
  const std::string text = EncodeWorkHistory(history);
  const Status written = WriteObject(package, StrCat(PrefixOf(run), DigestOf(text).ToHex(), ".json"), text,
                                     Condition::CreateOnly())
                             .status();
  return written.code() == Code::kAlreadyExists ? Status() : written;
}

Result<WorkHistory> ReadHistory(Store& package, const std::vector<ObjectInfo>& objects,
                                std::vector<std::string>& unreadable, const std::stop_token& stop) {
  std::vector<std::optional<Result<WorkHistory>>> read(objects.size());
  RETURN_IF_ERROR(InParallel(objects.size(), kPackageReaders, [&](std::size_t at) -> Status {
    const Result<std::string> text = ReadObject(package, objects[at], kMaxHistoryBytes, stop);
    if (!text.ok() && text.status().code() == Code::kNotFound) return {};
    if (!text.ok()) return text.status();
    read[at] = ParseWorkHistory(*text);
    return {};
  }));
  WorkHistory history;
  for (std::size_t at = 0; at < objects.size(); ++at) {
    if (read[at] && read[at]->ok()) history.Add(**read[at]);
    if (read[at] && !read[at]->ok()) unreadable.push_back(objects[at].name);
  }
  return history;
}

Result<std::vector<ObjectInfo>> ListHistory(Store& package, std::string_view run) {
  if (run.empty()) return std::vector<ObjectInfo>();
  return package.List(PrefixOf(run));
}

Status RemoveOtherHistory(Store& package, std::string_view run) {
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> objects, package.List(kHistoryPrefix));
  std::erase_if(objects, [&run](const ObjectInfo& object) { return object.name.starts_with(PrefixOf(run)); });
  return RemoveObjects(package, objects);
}

}  // namespace pipeline
