#include "plugins/train/journal_mirror.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/str.h"
#include "base/wait.h"
#include "base/whole_file.h"
#include "base/words.h"
#include "plugins/train/external/event_files.h"
#include "plugins/train/file_facts.h"
#include "plugins/train/object_files.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kRecord = "journal.json";
constexpr const char* kEvents = "events.jsonl";
constexpr const char* kLogs = "logs";
constexpr std::string_view kLogEnd = ".log", kEventsEnd = ".jsonl", kCurvesBegin = "events.out.tfevents.";
constexpr std::size_t kDigits = 10;
constexpr std::int64_t kMostPart = 8 << 20;  // of a file in one segment
constexpr std::uint64_t kMostSegment = 2 * kMostPart;
constexpr auto kPause = 200ms;                            // between two looks at the clock
constexpr std::string_view kTraces = "plugins/profile/";  // where TensorBoard looks for traces of a profiler
constexpr auto kSettled = 30s;  // without a change, after which a program has written a trace

std::string Digits(std::int64_t number) {
  const std::string digits = StrCat(number);
  return std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

/// The number in the name of an object; 0: it is none of ours.
std::int64_t NumberOf(std::string_view name) {
  for (const std::string_view end : {kLogEnd, kEventsEnd})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  if (name.size() < kDigits) return 0;
  const std::string_view before = name.substr(0, name.size() - kDigits);
  if (!before.empty() && !before.ends_with('.')) return 0;
  return ParseNumber<std::int64_t>(name.substr(name.size() - kDigits)).value_or(0);
}

Result<std::string> ReadRange(const std::string& path, std::int64_t from, std::int64_t to) {
  const FileDescriptor file = OpenPath(path, O_RDONLY);
  if (!file.is_open()) return SystemError(path, errno);
  std::string bytes(static_cast<std::size_t>(to - from), '\0');
  const ssize_t got = ReadFullyAt(file.get(), static_cast<std::uint64_t>(from), bytes);
  if (got < 0) return SystemError(path, errno);
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

std::int64_t EndOfLines(const std::string& path, std::int64_t from, std::int64_t size) {
  const Result<std::string> bytes = ReadRange(path, from, std::min(size, from + kMostPart));
  const std::size_t last = bytes.ok() ? bytes->rfind('\n') : std::string::npos;
  return last == std::string::npos ? from : from + static_cast<std::int64_t>(last) + 1;
}

}  // namespace

JournalMirror::JournalMirror(const RunDirectory& directory, std::string run_uri, std::string curves,
                             const PluginServices& call, std::chrono::nanoseconds every)
    : directory_(directory),
      run_uri_(std::move(run_uri)),
      curves_(std::move(curves)),
      call_(call),
      every_(every) {}

JournalMirror::~JournalMirror() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  if (!left_) Send(Traces::kAll);
}

Status JournalMirror::Begin() {
  std::int64_t newest = 0;
  std::vector<std::string> events;
  for (const char* folder : {"events", "tensorboard", kLogs}) {
    ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> objects,
                     call_.storage->List(StrCat(run_uri_, "/", folder)));
    for (const PluginStorage::Object& object : objects) {
      const std::int64_t number = NumberOf(object.name);
      newest = std::max(newest, number);
      if (number > 0 && object.name.ends_with(kEventsEnd))
        events.push_back(StrCat(run_uri_, "/", folder, "/", object.name));
    }
  }
  const Lock lock(mutex_);
  if (!Continues(newest)) {
    next_ = newest + 1;
    at_.clear();
    if (newest > 0) {
      if (const Status brought = BringEvents(events); !brought.ok())
        call_.log(Level::kWarning, StrCat("not all events of the bucket are here: ", brought.message()));
      at_ = Sizes();
    }
    RETURN_IF_ERROR(Keep());
  }
  thread_ = std::jthread([this](const std::stop_token& stop) {
    auto sent = SystemClock().Monotonic();
    while (WaitFor(kPause, stop)) {
      if (SystemClock().Monotonic() - sent < every_) continue;
      Send(Traces::kSettled);
      sent = SystemClock().Monotonic();
    }
  });
  return {};
}

bool JournalMirror::Has(const std::string& uri, const std::string& bytes) const {
  const Result<std::string> there = ReadText(*call_.storage, uri, bytes.size());
  return there.ok() && *there == bytes;
}

bool JournalMirror::Continues(std::int64_t newest) {
  const Json record = directory_.Read(kRecord);
  const std::int64_t next = record["next"].AsInt();
  const Json& sending = record["sending"];
  if (next < 1 || !(newest == next - 1 || (newest == next && sending.is_object()))) return false;
  next_ = next;
  at_.clear();
  for (const auto& [file, offset] : record["at"].AsObject()) at_[file] = offset.AsInt();
  pending_.clear();
  for (const auto& [file, range] : sending.AsObject())
    pending_[file] = {range["from"].AsInt(), range["to"].AsInt()};
  if (newest < next_) return true;
  // The newest segment may be of another machine.
  const auto objects = Segment(pending_);
  const bool ours = objects.ok() && std::any_of(objects->begin(), objects->end(), [&](const auto& object) {
                      return Has(StrCat(run_uri_, "/", object.first), object.second);
                    });
  if (!ours) pending_.clear();
  return ours;
}

Status JournalMirror::BringEvents(const std::vector<std::string>& objects) const {
  const std::string path = directory_.Path(kEvents), part = path + ".part";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  Status lacks;
  for (const std::string& object : objects) {
    if (call_.stopped()) return Status(Code::kCancelled, "stopped");
    const Result<std::string> bytes = ReadText(*call_.storage, object, kMostSegment);
    if (bytes.ok())
      file << *bytes;
    else
      lacks = bytes.status();
  }
  file.close();
  std::error_code error;
  if (!file) return SystemError(part, errno);
  fs::rename(part, path, error);
  return error ? SystemError(path, error.value()) : lacks;
}

std::vector<std::string> JournalMirror::Files() const {
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& log : NamesIn(directory_.Path(kLogs)))
    if (log.ends_with(kLogEnd)) files.push_back(StrCat(kLogs, "/", log));
  if (!curves_.empty() && fs::is_directory(directory_.Path(curves_), error))
    if (const auto below = FilesBelow(directory_.Path(curves_)); below.ok())
      for (const std::string& file : *below)
        if (file.find("tfevents") != std::string::npos) files.push_back(StrCat(curves_, "/", file));
  // Last: an evaluation whose curve is in a segment is in its events, too, so it is not made again.
  if (fs::exists(directory_.Path(kEvents), error)) files.emplace_back(kEvents);
  return files;
}

JournalMirror::Offsets JournalMirror::Sizes() const {
  Offsets sizes;
  for (const std::string& file : Files()) {
    std::error_code error;
    const auto size = static_cast<std::int64_t>(fs::file_size(directory_.Path(file), error));
    if (!error) sizes[file] = size;
  }
  return sizes;
}

JournalMirror::Range JournalMirror::Next(const std::string& file, std::int64_t size) const {
  const std::string path = directory_.Path(file);
  const auto known = at_.find(file);
  const std::int64_t from =
      known == at_.end() || known->second > size ? 0 : known->second;  // a log begins anew
  if (size == from) return {from, from};
  if (file == kEvents) return {from, EndOfLines(path, from, size)};
  if (file.ends_with(kLogEnd)) return {from, std::min(size, from + kMostPart)};
  return {from, EndOfRecords(path, from, size, kMostPart)};
}

Result<std::map<std::string, std::string>> JournalMirror::Segment(const Ranges& ranges) const {
  std::map<std::string, std::string> objects;
  const std::string number = Digits(next_);
  for (const auto& [file, range] : ranges) {
    const std::string path = directory_.Path(file);
    const Result<std::string> read = ReadRange(path, range.from, range.to);
    if (!read.ok()) continue;  // its program has removed it
    const std::string& bytes = *read;
    if (file == kEvents) {
      objects[StrCat("events/", number, kEventsEnd)] = bytes;
    } else if (file.ends_with(kLogEnd)) {
      objects[StrCat(file.substr(0, file.size() - kLogEnd.size()), ".", number, kLogEnd)] = bytes;
    } else {
      const std::string below = file.substr(curves_.size());
      std::string& object =
          objects[StrCat("tensorboard", below.substr(0, below.rfind('/') + 1), kCurvesBegin, number)];
      if (range.from > 0) {  // each file of TensorBoard begins with its version
        const Result<std::string> version = ReadRange(path, 0, EndOfRecords(path, 0, range.from, 1));
        if (version.ok()) object += *version;
      }
      object += bytes;
    }
  }
  return objects;
}

Status JournalMirror::SendSegment(const Ranges& ranges) {
  using Objects = std::map<std::string, std::string>;
  ASSIGN_OR_RETURN(const Objects objects, Segment(ranges));
  pending_ = ranges;
  RETURN_IF_ERROR(Keep());
  for (const auto& [name, bytes] : objects) {
    const std::string uri = StrCat(run_uri_, "/", name);
    const Status put = PutText(*call_.storage, bytes, uri, kCreateAlways);
    if (put.ok()) continue;
    if (put.code() != Code::kAlreadyExists) return put;
    if (!Has(uri, bytes)) {  // another machine took the number: the next one is ours
      ++next_;
      return SendSegment(Ranges(ranges));
    }
  }
  for (const auto& [file, range] : ranges) at_[file] = range.to;
  ++next_;
  pending_.clear();
  return Keep();
}

Status JournalMirror::Keep() const {
  Json record;
  record["next"] = next_;
  record["at"] = Json(Json::Object{});
  for (const auto& [file, offset] : at_) record["at"][file] = offset;
  for (const auto& [file, range] : pending_)
    record["sending"][file] = Json::Object{{"from", range.from}, {"to", range.to}};
  return directory_.Write(kRecord, record);
}

Status JournalMirror::SendAll() {
  // Objects of the segment may be there already, with these bytes.
  if (const Ranges pending = pending_; !pending.empty()) RETURN_IF_ERROR(SendSegment(pending));
  // A program that writes all the time must not hold the caller.
  const Offsets sizes = Sizes();
  while (true) {
    Ranges ranges;
    for (const auto& [file, size] : sizes)
      if (const Range range = Next(file, size); range.to > range.from) ranges[file] = range;
    if (ranges.empty()) return {};
    RETURN_IF_ERROR(SendSegment(ranges));
  }
}

Status JournalMirror::SendTraces(bool last) {
  std::error_code error;
  if (curves_.empty() || !fs::is_directory(directory_.Path(curves_), error)) return {};
  ASSIGN_OR_RETURN(const std::vector<std::string> below, FilesBelow(directory_.Path(curves_)));
  for (const std::string& name : below) {
    const std::string file = StrCat(curves_, "/", name);
    if (name.find(kTraces) == std::string::npos || Sent(file)) continue;
    const fs::path path = directory_.Path(file);
    const auto changed = fs::last_write_time(path, error);
    if (error || (!last && fs::file_time_type::clock::now() - changed < kSettled)) continue;
    // Without the lock: the marker of a checkpoint must not wait for a trace.
    const ObjectRule rule = {PluginStorage::Creation::kCreateOnly, PluginStorage::AtStop::kEnds};
    const Status put = PutFile(*call_.storage, path, StrCat(run_uri_, "/tensorboard/", name), rule,
                               [this] { return call_.stopped(); });
    if (put.code() == Code::kCancelled) return {};
    // An object of this name has these bytes: a kill came before Keep.
    if (!put.ok() && put.code() != Code::kAlreadyExists) return put;
    const Lock lock(mutex_);
    at_[file] = static_cast<std::int64_t>(fs::file_size(path, error));
    RETURN_IF_ERROR(Keep());
  }
  return {};
}

bool JournalMirror::Sent(const std::string& file) {
  const Lock lock(mutex_);
  return at_.contains(file);
}

void JournalMirror::Send(Traces traces) {
  Status sent;
  {
    const Lock lock(mutex_);
    sent = SendAll();
  }
  if (sent.ok() && traces != Traces::kNone) sent = SendTraces(traces == Traces::kAll);
  const Lock lock(mutex_);
  if (!sent.ok() && !failing_)
    call_.log(Level::kWarning, StrCat("the newest events, curves and logs are on this machine alone, in ",
                                      directory_.Path(""), ": ", sent.message()));
  failing_ = !sent.ok();
}

}  // namespace pipeline
