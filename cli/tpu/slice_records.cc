#include "cli/tpu/slice_records.h"

#include <algorithm>
#include <vector>

#include "base/str.h"
#include "base/words.h"
#include "dag/package/versioned_json.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr int kDigits = 6;
constexpr std::string_view kIntentEnd = ".json", kLeaveEnd = ".leave.json", kEndEnd = ".end.json";

std::string NameOf(std::uint64_t number, std::string_view end) {
  return StrCat(ZeroPadded(number, kDigits), end);
}

/// The number of an intent's object; absent: it is another object.
std::optional<std::uint64_t> NumberOf(std::string_view name) {
  if (name.size() != kDigits + kIntentEnd.size() || !name.ends_with(kIntentEnd)) return std::nullopt;
  return ParseNumber<std::uint64_t>(name.substr(0, kDigits));
}

/// Reads an object; absent: it does not exist.
template <class T>
Result<std::optional<T>> ReadOne(Store& place, const std::string& name, const std::stop_token& stop) {
  const Result<std::string> text = ReadObject(place, name, kMostBytes, stop);
  if (text.status().code() == Code::kNotFound) return std::optional<T>();
  if (!text.ok()) return text.status();
  Result<T> parsed = ParseVersioned<T>(*text);
  if (!parsed.ok()) return Status(parsed.status()).Annotate(name);
  return std::optional<T>(*std::move(parsed));
}

/// A record that was read may lack what every intent has: somebody changed it.
Status CheckIntent(const SliceIntent& intent, const std::string& name) {
  const SliceOrder& order = intent.order;
  const bool whole = !order.name.empty() && !order.project.empty() && !order.zone.empty() &&
                     order.type.slices > 0 && order.labels.contains(kSliceLabel) &&
                     order.labels.contains(kKeyLabel);
  return whole ? Status() : Status(Code::kDataLoss, StrCat(name, ": is damaged: it names no whole machine"));
}

template <class T>
Status Write(Store& place, const std::string& name, const T& value, const std::stop_token& stop) {
  return WriteObject(place, name, EncodeVersioned(value) + "\n", Condition::CreateOnly(), stop).status();
}

/// One that is there already stays.
Status WriteEnd(Store& place, std::string_view kind, const SliceEnd& end, const std::stop_token& stop) {
  const Status written = Write(place, NameOf(end.number, kind), end, stop);
  return written.code() == Code::kAlreadyExists ? Status() : written;
}

}  // namespace

Result<NewestAttempt> SliceRecords::Read(const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, place_.List(""));
  NewestAttempt newest;
  for (const ObjectInfo& object : objects)
    newest.number = std::max(newest.number, NumberOf(object.name).value_or(0));
  if (newest.number == 0) return newest;
  const std::string name = NameOf(newest.number, kIntentEnd);
  ASSIGN_OR_RETURN(newest.intent, ReadOne<SliceIntent>(place_, name, stop));
  if (newest.intent) RETURN_IF_ERROR(CheckIntent(*newest.intent, name));
  ASSIGN_OR_RETURN(newest.leave, ReadOne<SliceEnd>(place_, NameOf(newest.number, kLeaveEnd), stop));
  ASSIGN_OR_RETURN(newest.end, ReadOne<SliceEnd>(place_, NameOf(newest.number, kEndEnd), stop));
  return newest;
}

Status SliceRecords::Begin(const SliceIntent& intent, const std::stop_token& stop) const {
  return Write(place_, NameOf(intent.number, kIntentEnd), intent, stop);
}

Status SliceRecords::Leave(const SliceEnd& leave, const std::stop_token& stop) const {
  return WriteEnd(place_, kLeaveEnd, leave, stop);
}

Status SliceRecords::End(const SliceEnd& end, const std::stop_token& stop) const {
  return WriteEnd(place_, kEndEnd, end, stop);
}

}  // namespace pipeline
