#include "dag/package/work_history.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "dag/package/versioned_json.h"
#include "storage/remove_objects.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxHistoryBytes = 64 << 20;
constexpr std::size_t kMostName = 200;                   // bytes of a name
constexpr std::int64_t kLastTime = 253'402'300'799'999;  // the end of the year 9999

WorkHistory Bounded(WorkHistory history) {
  const auto cut = [](std::string& name) { name.resize(Utf8Front(name, kMostName).size()); };
  const auto bound = [](std::int64_t& number, std::int64_t most) {
    number = std::clamp<std::int64_t>(number, 0, most);
  };
  for (WorkHistory::Entry& entry : history.results) {
    for (std::string* name : {&entry.unit, &entry.who}) cut(*name);
    bound(entry.began, kLastTime);
    bound(entry.took_ms, kLongestUnit);
  }
  for (WorkHistory::Loss& loss : history.lost) {
    for (std::string* name : {&loss.unit, &loss.who, &loss.by}) cut(*name);
    bound(loss.began, kLastTime);
  }
  return history;
}

std::string PrefixOf(std::string_view run) { return StrCat(kHistoryPrefix, run, "/"); }

}  // namespace

void WorkHistory::Add(const WorkHistory& more) {
  results.insert(results.end(), more.results.begin(), more.results.end());
  lost.insert(lost.end(), more.lost.begin(), more.lost.end());
}

template <class Fields, Of<WorkHistory::Entry> T>
void ListFields(Fields& fields, T& entry) {
  fields.Required("unit", entry.unit).Required("who", entry.who).Loose("began", entry.began);
  fields.Loose("took_ms", entry.took_ms).Loose("bytes", entry.bytes).Loose("records", entry.records);
}

template <class Fields, Of<WorkHistory::Loss> T>
void ListFields(Fields& fields, T& loss) {
  fields.Required("unit", loss.unit).Required("who", loss.who).Required("by", loss.by);
  fields.Loose("began", loss.began);
}

template <class Fields, Of<WorkHistory> T>
void ListFields(Fields& fields, T& history) {
  fields.Required("results", history.results).Required("lost", history.lost);
}

std::string EncodeWorkHistory(const WorkHistory& history) { return EncodeVersioned(Bounded(history)); }

Result<WorkHistory> ParseWorkHistory(std::string_view text) {
  ASSIGN_OR_RETURN(WorkHistory history, ParseVersioned<WorkHistory>(text));
  return Bounded(std::move(history));
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
  ASSIGN_OR_RETURN(
      const ReadObjects<WorkHistory> read,
      ReadEach<WorkHistory>(package, objects, kMaxHistoryBytes, stop,
                            [](std::string_view text, std::string_view) { return ParseWorkHistory(text); }));
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
