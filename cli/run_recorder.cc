#include "cli/run_recorder.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

namespace pipeline {

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPeriod{50};
constexpr int kSamplesPerPeriod = 1'024;  // then it doubles

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

std::uint64_t PeakRss() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
}

/// 0 where the system does not tell.
std::uint64_t ResidentBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long whole = 0, resident = 0;
  const int read = std::fscanf(file, "%lu %lu", &whole, &resident);
  std::fclose(file);
  return read == 2 ? std::uint64_t{resident} * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

std::uint64_t ReadBy(const RunningUnit& unit) { return unit.input_read.load(std::memory_order_relaxed); }
std::uint64_t TextOf(const RunningUnit& unit) {
  return unit.counters.text_bytes.load(std::memory_order_relaxed);
}

RecordedUnit UnitOf(const RunningUnit& unit, double begin, double end, const Status& outcome) {
  RecordedUnit record;
  record.unit = unit.unit;
  record.begin = begin;
  record.end = end;
  record.records = unit.counters.records.load(std::memory_order_relaxed);
  record.text = TextOf(unit);
  record.read = ReadBy(unit);
  const auto& busy = unit.counters.busy_ns;
  for (std::size_t stage = 0; stage < busy.size(); ++stage) {
    const double seconds = static_cast<double>(busy[stage].load(std::memory_order_relaxed)) / 1e9;
    if (seconds > 0) record.busy[stage < unit.stages.size() ? unit.stages[stage] : "committing"] = seconds;
  }
  if (!outcome.ok()) record.failed = std::string(outcome.message());
  return record;
}

}  // namespace

RunRecorder::~RunRecorder() { End("failed", {}, {}); }

double RunRecorder::Now() const { return duration<double>(SystemClock().Monotonic() - began_).count(); }

void RunRecorder::Begin(const std::string& directory, const RecordedBegin& begin,
                        const std::vector<RecordedStage>& stages,
                        std::function<Result<std::uint64_t>()> free_bytes) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = StrCat(directory, "/", kRecordName);
  const std::scoped_lock lock(mutex_);
  file_ = error ? nullptr : std::fopen(path.c_str(), "we");
  if (file_ == nullptr) {
    const int why = error ? error.value() : errno;
    LogWarning(StrCat(SystemError(StrCat("writing the record of this run, ", path), why).message(),
                      "; the run goes on, without a report"));
    return;
  }
  free_bytes_ = std::move(free_bytes);
  cpu_before_ = CpuSeconds();
  began_ = SystemClock().Monotonic();
  recording_ = true;
  Write(EncodeEvent(begin));
  for (const RecordedStage& stage : stages) Write(EncodeEvent(stage));
  thread_ = std::thread([this] { Loop(); });
}

bool RunRecorder::End(std::string outcome, std::vector<std::pair<std::string, std::string>> failures,
                      const std::string& closing) {
  {
    const std::scoped_lock lock(mutex_);
    if (!recording_) return false;
    recording_ = false;
  }
  ended_.notify_all();
  thread_.join();
  Look();
  RecordedEnd end;
  end.at = Now();
  end.outcome = std::move(outcome);
  end.peak_rss = PeakRss();
  end.failures = std::move(failures);
  const std::scoped_lock lock(mutex_);
  Write(closing);
  Write(EncodeEvent(end));
  if (std::fclose(std::exchange(file_, nullptr)) != 0) failed_ = true;
  return !failed_;
}

void RunRecorder::Started(std::shared_ptr<const RunningUnit> unit) {
  {
    const std::scoped_lock lock(mutex_);
    running_.push_back({unit, Now()});
  }
  next_.Started(std::move(unit));
}

void RunRecorder::Finished(std::string_view unit, const Status& outcome) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = std::find_if(running_.begin(), running_.end(),
                                    [unit](const Running& running) { return running.unit->unit == unit; });
    if (found != running_.end()) {
      read_ += ReadBy(*found->unit);
      text_ += TextOf(*found->unit);
      Write(EncodeEvent(UnitOf(*found->unit, found->since, Now(), outcome)));
      running_.erase(found);
    }
  }
  next_.Finished(unit, outcome);
}

void RunRecorder::Logged(std::string_view unit, std::uint64_t records, std::uint64_t bytes) {
  {
    const std::scoped_lock lock(mutex_);
    written_ += bytes;
    Write(EncodeEvent(RecordedLogging{std::string(unit), Now(), records, bytes}));
  }
  next_.Logged(unit, records, bytes);
}

void RunRecorder::Advanced(std::string_view stage, std::uint64_t done, std::uint64_t of) {
  next_.Advanced(stage, done, of);
}

void RunRecorder::Arriving(std::string_view file, std::uint64_t here, std::uint64_t of, bool ended) {
  next_.Arriving(file, here, of, ended);
}

void RunRecorder::Note(std::string_view line) {
  {
    const std::scoped_lock lock(mutex_);
    Write(EncodeEvent(RecordedNote{Now(), std::string(line)}));
  }
  next_.Note(line);
}

void RunRecorder::Loop() {
  milliseconds period = kFirstPeriod;
  for (int taken = 1;; ++taken) {
    Look();
    std::unique_lock lock(mutex_);
    if (file_ != nullptr) std::fflush(file_);  // for who looks at it meanwhile, and after a kill
    if (taken % kSamplesPerPeriod == 0) period *= 2;
    if (ended_.wait_for(lock, period, [this] { return !recording_; })) return;
  }
}

/// Memory and disk are asked for without the lock: a network's disk may be slow.
void RunRecorder::Look() {
  RecordedMoment moment;
  moment.rss = ResidentBytes();
  if (const Result<std::uint64_t> free = free_bytes_(); free.ok()) moment.disk_free = *free;
  const std::scoped_lock lock(mutex_);
  moment.at = Now();
  moment.cpu = CpuSeconds() - cpu_before_;
  moment.read = read_;
  moment.text = text_;
  moment.written = written_;
  for (const Running& running : running_) {
    moment.read += ReadBy(*running.unit);
    moment.text += TextOf(*running.unit);
  }
  moment.units = running_.size();
  Write(EncodeEvent(moment));
}

void RunRecorder::Write(const std::string& lines) {
  if (file_ == nullptr || failed_) return;
  if (std::fwrite(lines.data(), 1, lines.size(), file_) != lines.size()) failed_ = true;
}

}  // namespace pipeline
