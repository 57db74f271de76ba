#include "dag/books/location_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/random_name.h"
#include "base/str.h"
#include "base/wait.h"
#include "base/words.h"
#include "dag/books/run_log_line.h"

namespace pipeline {

namespace {

constexpr std::chrono::seconds kMostWaiting{5}, kMostAtTheEnd{10};
constexpr int kDigits = 5;
constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{64} << 20;

}  // namespace

LocationLog::LocationLog(Store& out, std::string lineage, const Clock& clock)
    : out_(out), lineage_(std::move(lineage)), clock_(clock), run_(RandomName(16)) {}

Status LocationLog::Add(const UnitLine& line, std::stop_token stop) {
  const Lock lock(mutex_);
  if (lines_.empty()) oldest_ = clock_.Monotonic();
  UnitLine own = line;
  own.segment = 1;
  lines_ += EncodeLine(own);
  return WriteIfOld(std::move(stop));
}

Status LocationLog::WriteOld(std::stop_token stop) {
  const Lock lock(mutex_);
  return lines_.empty() ? Status() : WriteIfOld(std::move(stop));
}

Status LocationLog::WriteIfOld(std::stop_token stop) {
  return clock_.Monotonic() - oldest_ < kMostWaiting ? Status() : Write(std::move(stop));
}

Status LocationLog::Flush(std::stop_token stop) {
  const Lock lock(mutex_);
  return lines_.empty() ? Status() : Write(std::move(stop));
}

Status LocationLog::Write(std::stop_token stop) {
  // A stopped run must end soon, even if the server does not answer.
  std::optional<TimeLimit> limit;
  if (stop.stop_requested()) limit.emplace(kMostAtTheEnd, std::stop_token());
  const std::string name = StrCat(kLocationLogPrefix, run_, "-", ZeroPadded(next_++, kDigits), ".log");
  const std::string bytes = StrCat(kRunLogFirstLine, EncodeLine(SegmentLine{1, lineage_}), lines_);
  RETURN_IF_ERROR(
      WriteObject(out_, name, bytes, Condition::CreateOnly(), limit ? limit->token() : stop).status());
  lines_.clear();
  return {};
}

Result<std::vector<UnitLine>> ReadLocationLog(Store& out, const std::vector<ObjectInfo>& listed,
                                              std::stop_token stop) {
  std::vector<UnitLine> lines;
  std::size_t unreadable = 0;
  for (const ObjectInfo& object : listed) {
    if (!object.name.starts_with(kLocationLogPrefix)) continue;
    const Result<std::string> text = ReadObject(out, object, kMaxSegmentBytes, stop);
    if (!text.ok() && text.status().code() == Code::kCancelled) return text.status();
    std::string_view rest = text.ok() ? std::string_view(*text) : std::string_view();
    if (!rest.starts_with(kRunLogFirstLine)) {
      ++unreadable;
      continue;
    }
    rest.remove_prefix(kRunLogFirstLine.size());
    while (!rest.empty()) {
      const std::optional<LineHead> head = ScanLine(TakeUntil(rest, '\n'));
      std::optional<UnitLine> unit = head ? DecodeUnit(*head) : std::nullopt;
      if (unit && unit->state == UnitState::kDone) lines.push_back(std::move(*unit));
    }
  }
  if (unreadable > 0)
    LogWarning(StrCat(unreadable, " objects of a log below ", kLocationLogPrefix,
                      " cannot be read; the shards that they tell of are made again"));
  return lines;
}

}  // namespace pipeline
