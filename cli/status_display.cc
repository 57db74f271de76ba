#include "cli/status_display.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "dag/unit_id.h"

namespace pipeline {

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kTerminalPeriod{250};
constexpr milliseconds kPipePeriod{10'000};
constexpr double kWindowSeconds = 5;  // rates are of about the last so many seconds

std::string Duration(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0));
  if (whole >= 3600) return StrCat(whole / 3600, "h", ZeroPadded(whole / 60 % 60, 2), "m");
  if (whole >= 60) return StrCat(whole / 60, "m", ZeroPadded(whole % 60, 2), "s");
  return StrCat(whole, "s");
}

std::size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string Fit(std::string line, std::size_t width) {
  if (line.size() > width) line = line.substr(0, width - 3) + "...";
  return line;
}

/// The stage that was busiest since the last look, as the one to make faster.
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

/// A running unit with what is needed for its rate.
struct StatusDisplay::Shown {
  std::shared_ptr<const RunningUnit> unit;
  steady_clock::time_point since = steady_clock::now();
  steady_clock::time_point last = since;
  std::uint64_t last_read = 0;
  std::uint64_t last_text = 0;
  double read_rate = 0;  // bytes per second, smoothed
  double text_rate = 0;
  std::uint64_t first_read = 0;  // the first that was heard of, and when: what a Job counts comes in strides
  std::optional<steady_clock::time_point> first_at;
  std::vector<std::uint64_t> last_busy;
};

/// A file on its way here.
struct StatusDisplay::Arrival {
  std::uint64_t here = 0;
  std::uint64_t of = 0;
  std::uint64_t last = 0;  // when the rate was last looked at, and how much was here
  steady_clock::time_point last_at = steady_clock::now();
  double rate = 0;  // bytes per second, smoothed
  bool has_rate = false;
};

StatusDisplay::StatusDisplay(bool json) : json_(json), terminal_(!json && isatty(STDERR_FILENO) == 1) {
  former_sink_ = SetLogSink([this](Level level, std::string_view message) {
    const std::scoped_lock lock(mutex_);
    WriteMessage(level, message);
  });
}

StatusDisplay::~StatusDisplay() {
  Stop();
  SetLogSink(std::move(former_sink_));
}

void StatusDisplay::Start() {
  const std::scoped_lock lock(mutex_);
  running_ = true;
  thread_ = std::thread([this] { Loop(); });
  pthread_setname_np(thread_.native_handle(), "pipe-status");
}

void StatusDisplay::Stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (!running_) return;
    running_ = false;
  }
  ended_.notify_all();
  thread_.join();
  const std::scoped_lock lock(mutex_);
  Erase();
}

void StatusDisplay::Started(std::shared_ptr<const RunningUnit> unit) {
  const std::scoped_lock lock(mutex_);
  auto shown = std::make_unique<Shown>();
  shown->unit = std::move(unit);
  units_.push_back(std::move(shown));
}

void StatusDisplay::Finished(std::string_view unit, const Status&) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(units_, [unit](const std::unique_ptr<Shown>& shown) { return shown->unit->unit == unit; });
}

/// For programs that follow along; people see the same in the line of the unit.
void StatusDisplay::Logged(std::string_view unit, std::uint64_t records, std::uint64_t bytes) {
  if (!json_) return;
  Json json;
  json["time"] = Iso8601(SystemClock().UnixMillis());
  json["level"] = "info";
  json["message"] = StrCat(unit, " is done");
  json["unit"] = unit;
  json["records"] = records;
  json["bytes"] = bytes;
  const std::scoped_lock lock(mutex_);
  std::fprintf(stderr, "%s\n", json.Dump().c_str());
}

void StatusDisplay::Advanced(std::string_view stage, std::uint64_t done, std::uint64_t of) {
  const std::scoped_lock lock(mutex_);
  shards_.insert_or_assign(std::string(stage), std::pair(done, of));
}

void StatusDisplay::Arriving(std::string_view file, std::uint64_t here, std::uint64_t of, bool ended) {
  const std::scoped_lock lock(mutex_);
  auto found = arrivals_.find(file);
  if (ended) {
    if (found != arrivals_.end()) arrivals_.erase(found);
    return;
  }
  if (found == arrivals_.end()) {
    found = arrivals_.emplace(file, std::make_unique<Arrival>()).first;
    found->second->last = here;  // what an earlier run fetched is no speed of this one
  }
  found->second->here = here;
  found->second->of = of;
  found->second->last = std::min(found->second->last, here);  // less is here where it begins anew
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
  std::unique_lock lock(mutex_);
  const milliseconds period = terminal_ ? kTerminalPeriod : kPipePeriod;
  while (!ended_.wait_for(lock, period, [this] { return !running_; })) Draw();
}

void StatusDisplay::Erase() {
  if (lines_drawn_ == 0) return;
  std::fprintf(stderr, "\x1b[%zuA\x1b[J", lines_drawn_);
  lines_drawn_ = 0;
}

void StatusDisplay::Draw() {
  std::vector<std::string> lines = Lines();
  if (!terminal_) {
    for (const std::string& line : lines) WriteMessage(Level::kInfo, line);
    return;
  }
  const std::size_t width = TerminalWidth();
  std::string text;
  for (const std::string& line : lines) text += Fit(TerminalText(line), width) + "\n";
  Erase();
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  lines_drawn_ = lines.size();
}

std::vector<std::string> StatusDisplay::Lines() {
  std::vector<std::string> lines;
  for (const auto& [file, arrival] : arrivals_) lines.push_back(LineOf(file, *arrival));
  const auto now = steady_clock::now();
  for (const std::unique_ptr<Shown>& shown : units_) {
    // Shards are told of by stage, below.
    const std::optional<UnitId> unit = ParseUnitId(shown->unit->unit);
    if (unit && std::holds_alternative<ShardId>(unit->part)) continue;
    const double seconds = duration<double>(now - shown->last).count();
    if (seconds <= 0) continue;
    lines.push_back(LineOf(*shown, seconds));
    shown->last = now;
  }
  for (const auto& [stage, progress] : shards_)
    if (progress.first < progress.second)
      lines.push_back(StrCat("[", stage, "] shard ", progress.first, " of ", progress.second));
  return lines;
}

std::string StatusDisplay::LineOf(std::string_view file, Arrival& arrival) {
  const auto now = steady_clock::now();
  const double seconds = duration<double>(now - arrival.last_at).count();
  if (seconds > 0) {
    const double rate = static_cast<double>(arrival.here - arrival.last) / seconds;
    const double weight = arrival.has_rate ? std::min(1.0, seconds / kWindowSeconds) : 1.0;
    arrival.rate += weight * (rate - arrival.rate);
    arrival.has_rate = true;
    arrival.last = arrival.here;
    arrival.last_at = now;
  }
  std::string line = StrCat("[", file, "] ");
  if (arrival.of > 0) line += StrCat(arrival.here * 100 / arrival.of, "% ");
  if (arrival.rate >= 1)
    line += StrCat("eta ", Duration(static_cast<double>(arrival.of - arrival.here) / arrival.rate), " ");
  return line + StrCat(HumanBytes(arrival.here), " of ", HumanBytes(arrival.of), " arrived, ",
                       HumanBytes(static_cast<std::uint64_t>(arrival.rate)), "/s");
}

/// What a Job says of itself, with the time that is left by its pace so far.
std::string StatusDisplay::LineOfJob(Shown& shown, const std::string& said) {
  const std::uint64_t done = shown.unit->input_read.load(std::memory_order_relaxed);
  const std::uint64_t all = shown.unit->input_bytes.load(std::memory_order_relaxed);
  const auto now = steady_clock::now();
  if (!shown.first_at && done > 0) shown.first_at = now, shown.first_read = done;
  std::string line;
  if (all > 0) line = StrCat(std::min(done, all) * 100 / all, "% ");
  if (shown.first_at && done > shown.first_read && done < all) {
    const double pace =
        static_cast<double>(done - shown.first_read) / duration<double>(now - *shown.first_at).count();
    line += StrCat("eta ", Duration(static_cast<double>(all - done) / pace), " ");
  }
  return line + said;
}

std::string StatusDisplay::LineOf(Shown& shown, double seconds) const {
  const RunningUnit& unit = *shown.unit;
  const std::uint64_t read = unit.input_read.load(std::memory_order_relaxed);
  const std::uint64_t text = unit.counters.text_bytes.load(std::memory_order_relaxed);
  const double weight = std::min(1.0, seconds / kWindowSeconds);
  const bool first = shown.last == shown.since;
  const auto smooth = [&](double& rate, std::uint64_t bytes) {
    const double now = static_cast<double>(bytes) / seconds;
    rate = first ? now : rate + weight * (now - rate);
  };
  smooth(shown.read_rate, read - shown.last_read);
  smooth(shown.text_rate, text - shown.last_text);
  shown.last_read = read;
  shown.last_text = text;

  std::string line = StrCat("[", unit.unit, "] ");
  if (const std::string said = unit.said(); !said.empty()) return line + LineOfJob(shown, said);
  if (const std::uint64_t all = unit.input_bytes.load(std::memory_order_relaxed); all > 0 && read > 0) {
    const std::uint64_t bounded = std::min(read, all);
    line += StrCat(bounded * 100 / all, "% ");
    if (shown.read_rate > 0)
      line += StrCat("eta ", Duration(static_cast<double>(all - bounded) / shown.read_rate), " ");
  }
  line +=
      StrCat(HumanBytes(text), " of text, ", HumanBytes(static_cast<std::uint64_t>(shown.text_rate)), "/s");
  if (const std::uint64_t closed = unit.counters.partitions.load(std::memory_order_relaxed); closed > 0)
    line += StrCat(", ", closed, " partitions");
  const std::string limiting = Limiting(unit, shown.last_busy);
  if (!limiting.empty()) line += StrCat(", limited by ", limiting);
  return line;
}

}  // namespace pipeline
