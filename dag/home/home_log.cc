#include "dag/home/home_log.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "base/wait.h"
#include "base/words.h"
#include "dag/books/run_log_line.h"

namespace pipeline {

namespace {

constexpr std::string_view kWholeSuffix = "-all";
constexpr int kDigits = 8;
constexpr std::uint32_t kMostNumber = 99'999'999;
constexpr std::uint64_t kMostSegmentBytes = std::uint64_t{4} << 30;
constexpr std::chrono::seconds kMostAtTheEnd{10};
constexpr int kMostTurns = 20;     // readings, while segments are replaced meanwhile
constexpr int kMostForeign = 100;  // segments of dead runs that arrived late

/// A segment: its number, and whether it has the whole log up to there.
struct Segment {
  std::uint32_t number = 0;
  bool whole = false;
};

std::optional<Segment> ParseSegment(std::string_view object) {
  if (!object.starts_with(kHomeLogPrefix)) return std::nullopt;
  object.remove_prefix(kHomeLogPrefix.size());
  Segment segment;
  segment.whole = object.ends_with(kWholeSuffix);
  if (segment.whole) object.remove_suffix(kWholeSuffix.size());
  const auto number = object.size() == kDigits ? ParseNumber<std::uint32_t>(object) : std::nullopt;
  segment.number = number.value_or(0);
  return number ? std::optional(segment) : std::nullopt;
}

std::string NameOf(std::uint32_t number, std::string_view suffix) {
  return StrCat(kHomeLogPrefix, ZeroPadded(number, kDigits), suffix);
}

/// The objects that make up the log, by number.
std::map<std::uint32_t, ObjectInfo> NeededOf(const std::vector<ObjectInfo>& listed, std::uint32_t& next) {
  std::map<std::uint32_t, ObjectInfo> needed;
  std::uint32_t from = 0;
  for (const ObjectInfo& object : listed)
    if (const std::optional<Segment> segment = ParseSegment(object.name)) {
      next = std::max(next, segment->number + 1);
      if (segment->whole) from = std::max(from, segment->number);
      // A late segment of a dead run may have the number of a whole log.
      if (ObjectInfo& one = needed[segment->number]; one.name.empty() || segment->whole) one = object;
    }
  needed.erase(needed.begin(), needed.lower_bound(from));
  return needed;
}

/// Appends the lines of a segment. False: it is none.
bool AddSegment(std::string_view bytes, std::string& text) {
  const std::size_t end = bytes.find('\n');
  if (!bytes.starts_with(kRunLogFront) || end == std::string_view::npos) return false;
  const std::string_view first = bytes.substr(0, end + 1);
  if (text.empty()) text = first;
  // A newer version must be seen by the reader of the log.
  if (first != kRunLogFirstLine) text.replace(0, text.find('\n') + 1, first);
  text += bytes.substr(end + 1);
  if (text.back() != '\n') text += '\n';
  return true;
}

/// Absent: a segment was replaced meanwhile.
Result<std::optional<HomeLogText>> ReadOnce(Store& home, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> listed, home.List(kHomeLogPrefix));
  HomeLogText log;
  const std::map<std::uint32_t, ObjectInfo> needed = NeededOf(listed, log.next);
  std::uint32_t lost = 0;
  std::optional<std::uint32_t> last;
  for (const auto& [number, object] : needed) {
    const Result<std::string> bytes = ReadObject(home, object, kMostSegmentBytes, stop);
    if (bytes.status().code() == Code::kNotFound) return std::nullopt;
    if (!bytes.ok() && bytes.status().code() != Code::kDataLoss) return bytes.status();
    if (!bytes.ok() || !AddSegment(*bytes, log.text)) ++lost;
    lost += last ? number - *last - 1 : 0;
    last = number;
    ++log.segments;
  }
  if (lost > 0)
    LogWarning(StrCat(lost, " segment(s) of the log below ", kHomeLogPrefix,
                      " are missing or damaged; the work that only they name is done again"));
  return log;
}

}  // namespace

Result<HomeLogText> ReadHomeLog(Store& home, std::stop_token stop) {
  for (int turn = 0; turn < kMostTurns; ++turn) {
    ASSIGN_OR_RETURN(std::optional<HomeLogText> log, ReadOnce(home, stop));
    if (log) return std::move(*log);
  }
  return Status(Code::kUnavailable,
                StrCat("the segments below ", kHomeLogPrefix, " are replaced again and again; try again"));
}

HomeLog::HomeLog(Store& home, std::uint32_t next, std::uint32_t segments, Terms terms)
    : home_(home),
      terms_(std::move(terms)),
      next_(next),
      segments_(segments),
      thread_([this](const std::stop_token& stop) { Loop(stop); }) {}

HomeLog::~HomeLog() {
  thread_.request_stop();
  thread_.join();
  const TimeLimit limit(kMostAtTheEnd, {});
  const Lock writing(writing_);
  const Status written = WriteWaiting(limit.token());
  if (!written.ok())
    LogWarning(StrCat("the last lines of the log did not reach its home (", written.message(),
                      "); the work that they name is done again"));
}

void HomeLog::Loop(const std::stop_token& stop) {
  while (true) {
    {
      Lock lock(mutex_);
      if (!changed_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return !lines_.empty() && failed_.ok(); }))
        return;
      changed_.WaitFor(lock, stop, terms_.most_waiting, [this]() REQUIRES(mutex_) { return at_once_; });
      if (stop.stop_requested()) return;
    }
    const Lock writing(writing_);
    Status written = WriteWaiting(stop);
    if (written.ok() && segments_ > terms_.most_segments) written = WriteAll(stop);
    Remember(written);
  }
}

void HomeLog::Remember(const Status& failure) {
  if (failure.ok() || failure.code() == Code::kCancelled) return;
  {
    const Lock lock(mutex_);
    if (!failed_.ok()) return;
    failed_ = failure;
  }
  if (terms_.failed) terms_.failed(failure);
}

Status HomeLog::Add(std::string_view lines, bool at_once) {
  {
    const Lock lock(mutex_);
    RETURN_IF_ERROR(failed_);
    lines_ += lines;
    at_once_ = at_once_ || at_once;
  }
  changed_.NotifyAll();
  return {};
}

Status HomeLog::Flush(std::stop_token stop) {
  // A stopped run must end soon, even if the server does not answer.
  std::optional<TimeLimit> limit;
  if (stop.stop_requested()) limit.emplace(kMostAtTheEnd, std::stop_token());
  Status written;
  {
    const Lock writing(writing_);
    written = WriteWaiting(limit ? limit->token() : stop);
  }
  Remember(written);
  return written;
}

Status HomeLog::WriteWhole(std::stop_token stop) {
  Status written;
  {
    const Lock writing(writing_);
    written = WriteAll(stop);
  }
  Remember(written);
  return written;
}

Status HomeLog::WriteWaiting(const std::stop_token& stop) {
  std::string lines;
  {
    const Lock lock(mutex_);
    RETURN_IF_ERROR(failed_);
    lines = std::exchange(lines_, {});
    at_once_ = false;
  }
  if (lines.empty()) return {};
  Status created = Create(StrCat(kRunLogFirstLine, lines), {}, stop);
  if (created.ok()) {
    ++segments_;
    return {};
  }
  const Lock lock(mutex_);
  lines_.insert(0, lines);
  return created;
}

Status HomeLog::WriteAll(const std::stop_token& stop) {
  ASSIGN_OR_RETURN(std::string text, terms_.whole());
  text.resize(text.rfind('\n') + 1);  // another thread may be appending
  RETURN_IF_ERROR(Create(text, kWholeSuffix, stop));
  segments_ = 1;
  const std::uint32_t number = next_ - 1;
  // Segments that stay are not read any more, and go the next time.
  Result<std::vector<ObjectInfo>> listed = home_.List(kHomeLogPrefix);
  if (!listed.ok()) return {};
  std::erase_if(*listed, [number](const ObjectInfo& object) {
    const std::optional<Segment> segment = ParseSegment(object.name);
    return !segment || segment->number >= number;
  });
  (void)home_.RemoveAll(*listed, [] { return true; });
  return {};
}

Status HomeLog::Create(std::string_view bytes, std::string_view suffix, const std::stop_token& stop) {
  for (int turn = 0; turn < kMostForeign; ++turn) {
    // Nobody would read it.
    if (next_ > kMostNumber)
      return Status(
          Code::kInvalidArgument,
          StrCat(NameOf(kMostNumber, ""), ": the segment of the log with the highest possible number ",
                 "exists; remove it if no run wrote it, and run again"));
    Status created = WriteObject(home_, NameOf(next_, suffix), bytes, Condition::CreateOnly(), stop).status();
    if (created.ok()) ++next_;
    if (created.code() != Code::kAlreadyExists) return created;
    // Another run holds the home now, or the last request of a dead one arrived after the log was read, or
    // one of this run that was stopped.
    RETURN_IF_ERROR(terms_.confirm(stop));
    ++next_;
  }
  return Status(Code::kUnavailable, StrCat("others write segments below ", kHomeLogPrefix, "; run again"));
}

}  // namespace pipeline
