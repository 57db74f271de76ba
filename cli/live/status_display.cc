#include "cli/live/status_display.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/enumeration.h"
#include "base/json.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "cli/terminal/columns.h"
#include "dag/books/unit_id.h"

namespace pipeline {

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr milliseconds kTerminalPeriod{250};
constexpr milliseconds kPipePeriod{10'000};

std::string Duration(double in_seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(in_seconds, 0.0));
  if (whole >= 3600) return StrCat(whole / 3600, "h", ZeroPadded(whole / 60 % 60, 2), "m");
  if (whole >= 60) return StrCat(whole / 60, "m", ZeroPadded(whole % 60, 2), "s");
  return StrCat(whole, "s");
}

struct TerminalSize {
  std::size_t columns = 80, rows = 24;
};

TerminalSize SizeOfTerminal() {
  winsize size{};
  TerminalSize found;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return found;
  if (size.ws_col > 0) found.columns = size.ws_col;
  if (size.ws_row > 0) found.rows = size.ws_row;
  return found;
}

/// Returns "45% eta 3m20s ", without the unknown parts.
std::string Share(std::uint64_t done, std::uint64_t of, const Pace& pace, Pace::Time now) {
  if (of == 0) return {};
  const auto share =
      static_cast<int>(100 * static_cast<double>(std::min(done, of)) / static_cast<double>(of));
  std::string text = StrCat(share, "% ");
  if (const std::optional<double> left = pace.Left(now, of)) text += StrCat("eta ", Duration(*left), " ");
  return text;
}

std::string PerSecond(const Pace& pace, Pace::Time now) {
  return StrCat(HumanBytes(static_cast<std::uint64_t>(pace.Rate(now))), "/s");
}

/// Returns the stage that was busiest since the last call, which limits the speed.
std::string Limiting(const RunningUnit& unit, std::vector<std::uint64_t>& last_busy) {
  std::size_t busiest = 0;
  std::uint64_t most = 0;
  const auto& busy = unit.counters.busy_ns;
  last_busy.resize(busy.size());
  for (std::size_t stage = 0; stage < busy.size(); ++stage) {
    const std::uint64_t now = busy[stage].load(std::memory_order_relaxed);
    if (now - last_busy[stage] > most) most = now - last_busy[stage], busiest = stage;
    last_busy[stage] = now;
  }
  if (most == 0) return {};
  return busiest < unit.stages.size() ? unit.stages[busiest] : "committing";
}

}  // namespace

/// A running unit, with the values for its rate.
struct StatusDisplay::Shown {
  std::shared_ptr<const RunningUnit> unit;
  Pace::Time since = SystemClock().Monotonic();
  Pace read;
  Pace job;  // of what a status line tells
  Pace text;
  std::vector<std::uint64_t> last_busy;
};

void StatusDisplay::Steps::Note(std::uint64_t now_done, std::uint64_t now_of) {
  done = now_done;
  of = now_of;
  pace.Note(SystemClock().Monotonic(), done);
}

StatusDisplay::StatusDisplay(bool json) : json_(json), terminal_(!json && isatty(STDERR_FILENO) == 1) {
  former_sink_ = SetLogSink([this](Level level, std::string_view message) {
    const Lock lock(mutex_);
    WriteMessage(level, message);
  });
}

StatusDisplay::~StatusDisplay() {
  Stop();
  SetLogSink(std::move(former_sink_));
}

void StatusDisplay::Expect(StageLine stages) {
  const Lock lock(mutex_);
  stages_ = std::move(stages);
}

void StatusDisplay::Start() {
  const Lock lock(mutex_);
  running_ = true;
  began_ = SystemClock().Monotonic();
  thread_ = std::thread([this] { Loop(); });
  pthread_setname_np(thread_.native_handle(), "pipe-status");
}

void StatusDisplay::Stop() {
  {
    const Lock lock(mutex_);
    if (!running_) return;
    running_ = false;
  }
  ended_.NotifyAll();
  thread_.join();
  const Lock lock(mutex_);
  Erase();
}

void StatusDisplay::Show(std::vector<std::string> lines) {
  const Lock lock(mutex_);
  shown_ = std::move(lines);
}

void StatusDisplay::StageBegan(std::string_view stage) {
  const Lock lock(mutex_);
  stages_.Began(stage);
}

void StatusDisplay::StageDone(std::string_view stage) {
  const Lock lock(mutex_);
  stages_.Done(stage);
  shards_.erase(std::string(stage));
}

void StatusDisplay::Started(std::shared_ptr<const RunningUnit> unit) {
  const Lock lock(mutex_);
  auto shown = std::make_unique<Shown>();
  shown->unit = std::move(unit);
  units_.push_back(std::move(shown));
}

void StatusDisplay::Finished(std::string_view unit, const Status&) {
  const Lock lock(mutex_);
  std::erase_if(units_, [unit](const std::unique_ptr<Shown>& shown) { return shown->unit->unit == unit; });
}

/// Only programs get this; people see the same in the line of the unit.
void StatusDisplay::Logged(std::string_view unit, std::uint64_t records, std::uint64_t bytes) {
  if (!json_) return;
  Json json;
  json["time"] = Iso8601(SystemClock().UnixMillis());
  json["level"] = "info";
  json["message"] = StrCat(unit, " is done");
  json["unit"] = unit;
  json["records"] = records;
  json["bytes"] = bytes;
  const Lock lock(mutex_);
  std::fprintf(stderr, "%s\n", json.Dump().c_str());
}

void StatusDisplay::Advanced(std::string_view stage, std::uint64_t done, std::uint64_t of) {
  const Lock lock(mutex_);
  shards_[std::string(stage)].Note(done, of);
}

void StatusDisplay::Arriving(std::string_view file, std::uint64_t here, std::uint64_t of, bool ended) {
  const Lock lock(mutex_);
  // The bytes of the first call give no speed, because an earlier run may have fetched them.
  if (ended)
    downloads_.erase(std::string(file));
  else
    downloads_[std::string(file)].Note(here, of);
}

void StatusDisplay::Note(std::string_view line) { LogInfo(line); }

void StatusDisplay::WriteMessage(Level level, std::string_view message) {
  Erase();
  if (json_) {
    Json json;
    json["time"] = Iso8601(SystemClock().UnixMillis());
    json["level"] = level == Level::kError ? "error" : level == Level::kWarning ? "warning" : "info";
    json["message"] = message;
    std::fprintf(stderr, "%s\n", json.Dump().c_str());
    return;
  }
  const char* prefix = level == Level::kError ? "error: " : level == Level::kWarning ? "warning: " : "";
  std::fprintf(stderr, "%s%.*s\n", prefix, static_cast<int>(message.size()), message.data());
}

void StatusDisplay::Loop() {
  Lock lock(mutex_);
  const milliseconds period = terminal_ ? kTerminalPeriod : kPipePeriod;
  while (!ended_.WaitFor(lock, period, [this]() REQUIRES(mutex_) { return !running_; })) Draw();
}

void StatusDisplay::Erase() {
  if (lines_drawn_ == 0) return;
  // The terminal may have shown "^C" where the cursor was.
  std::fprintf(stderr, "\r\x1b[%zuA\x1b[J", lines_drawn_);
  lines_drawn_ = 0;
}

void StatusDisplay::Draw() {
  std::vector<std::string> lines = Lines();
  if (!terminal_) {
    for (const std::string& line : lines) WriteMessage(Level::kInfo, line);
    return;
  }
  const TerminalSize size = SizeOfTerminal();
  // Lines that scrolled away cannot be erased.
  const std::size_t most = std::max<std::size_t>(size.rows, 3) - 1;
  if (lines.size() > most) {
    const std::size_t more = lines.size() - most + 1;
    lines.resize(most - 1);
    lines.push_back(StrCat("and ", more, " more"));
  }
  std::string text;
  for (const std::string& line : lines) text += FitColumns(TerminalText(line), size.columns) + "\n";
  Erase();
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  lines_drawn_ = lines.size();
}

std::vector<std::string> StatusDisplay::Lines() {
  const Pace::Time now = SystemClock().Monotonic();
  std::vector<std::string> lines;
  const std::string stages = stages_.Text();
  lines.push_back(
      StrCat(Duration(duration<double>(now - began_).count()), stages.empty() ? "" : "  ", stages));
  for (const auto& [file, bytes] : downloads_)
    lines.push_back(StrCat("[", file, "] ", Share(bytes.done, bytes.of, bytes.pace, now),
                           HumanBytes(bytes.done), " of ", HumanBytes(bytes.of), " arrived, ",
                           PerSecond(bytes.pace, now)));
  for (const std::unique_ptr<Shown>& shown : units_) {
    // Shards are shown by stage, below.
    const std::optional<UnitId> unit = ParseUnitId(shown->unit->unit);
    if (unit && std::holds_alternative<ShardId>(unit->part)) continue;
    lines.push_back(LineOf(*shown, now));
  }
  for (const auto& [stage, shards] : shards_)
    if (shards.done < shards.of)
      lines.push_back(StrCat("[", stage, "] ", Share(shards.done, shards.of, shards.pace, now), "shard ",
                             shards.done, " of ", shards.of));
  lines.insert(lines.end(), shown_.begin(), shown_.end());
  return lines;
}

/// Returns a Job's own message, with the time that is left at its pace.
std::string StatusDisplay::LineOfJob(Shown& shown, const std::string& said, Pace::Time now) {
  const std::uint64_t done = shown.unit->done.load(std::memory_order_relaxed);
  const std::uint64_t of = shown.unit->of.load(std::memory_order_relaxed);
  if (of == 0)
    shown.job = Pace();  // what it does now is not measured
  else
    shown.job.Note(now, done);
  return StrCat(Share(done, of, shown.job, now), "after ",
                Duration(duration<double>(now - shown.since).count()), ": ", said);
}

std::string StatusDisplay::LineOf(Shown& shown, Pace::Time now) {
  const RunningUnit& unit = *shown.unit;
  std::string line = StrCat("[", unit.unit, "] ");
  if (const std::string said = unit.said(); !said.empty()) return line + LineOfJob(shown, said, now);
  const std::uint64_t text = unit.counters.text_bytes.load(std::memory_order_relaxed);
  const bool job = unit.of.load(std::memory_order_relaxed) > 0;
  const std::uint64_t done =
      job ? unit.done.load(std::memory_order_relaxed) : unit.input_read.load(std::memory_order_relaxed);
  const std::uint64_t all =
      job ? unit.of.load(std::memory_order_relaxed) : unit.input_bytes.load(std::memory_order_relaxed);
  shown.read.Note(now, done);
  shown.text.Note(now, text);
  if (done > 0) line += Share(done, all, shown.read, now);
  line += StrCat(HumanBytes(text), " of text, ", PerSecond(shown.text, now));
  if (const std::uint64_t closed = unit.counters.partitions.load(std::memory_order_relaxed); closed > 0)
    line += StrCat(", ", Counted(closed, "partition"));
  const std::string limiting = Limiting(unit, shown.last_busy);
  if (!limiting.empty()) line += StrCat(", limited by ", limiting);
  return line;
}

}  // namespace pipeline
