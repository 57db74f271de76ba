#include "cli/report/run_recorder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/child_ledger.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "dag/books/log_file.h"

namespace pipeline {

namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPeriod{50};
constexpr int kSamplesPerPeriod = 1'024;  // then the period doubles
constexpr double kTold = 1;               // seconds from one RunNow to the next, at least

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
  record.cpu = static_cast<double>(unit.counters.cpu_ns.load(std::memory_order_relaxed)) / 1e9;
  record.stopped = outcome.code() == Code::kCancelled;
  if (!outcome.ok() && !record.stopped) record.failed = std::string(outcome.message());
  return record;
}

}  // namespace

Result<RunRecord> ReadRecord(const WorkDir& work, const std::string& run) {
  ASSIGN_OR_RETURN(const std::string lines, ReadWholeFile(StrCat(work.run(run), "/", kRecordName)));
  return ParseRunRecord(lines);
}

RunRecorder::~RunRecorder() { End("failed", {}, {}); }

double RunRecorder::Now() const { return duration<double>(SystemClock().Monotonic() - began_).count(); }

void RunRecorder::Begin(const std::string& directory, const std::string& beginning) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = StrCat(directory, "/", kRecordName);
  const Lock lock(mutex_);
  file_ = error ? nullptr : std::fopen(path.c_str(), "we");
  if (file_ == nullptr) {
    const int why = error ? error.value() : errno;
    LogWarning(StrCat(SystemError(StrCat("writing the record of this run, ", path), why).message(),
                      "; the run goes on, without a report"));
    return;
  }
  directory_ = directory;
  before_ = tree_.Look(true);
  began_ = SystemClock().Monotonic();
  recording_ = true;
  Write(beginning);
  thread_ = std::thread([this] { Loop(); });
}

bool RunRecorder::End(std::string outcome, std::vector<RunEnd::Failure> failures,
                      const std::string& closing) {
  {
    const Lock lock(mutex_);
    if (!recording_) return false;
    recording_ = false;
  }
  ended_.NotifyAll();
  thread_.join();
  Look(true);
  RemoveNow(directory_);
  RecordedEnd end;
  end.at = Now();
  end.outcome = std::move(outcome);
  end.failures = std::move(failures);
  const Lock lock(mutex_);
  end.peak_rss = std::max(peak_rss_, ProcessTree::PeakOfOne());
  Write(closing);
  Write(EncodeEvent(end));
  if (std::fclose(std::exchange(file_, nullptr)) != 0) failed_ = true;
  return !failed_;
}

void RunRecorder::StageBegan(std::string_view stage) {
  {
    const Lock lock(mutex_);
    if (reached_.insert(std::string(stage)).second) Write(EncodeReached(stage, Now()));
  }
  next_.StageBegan(stage);
}

void RunRecorder::StageDone(std::string_view stage) {
  {
    const Lock lock(mutex_);
    Write(EncodeComplete(stage, Now()));
  }
  next_.StageDone(stage);
  if (stage_done_) stage_done_(stage);
}

void RunRecorder::Started(std::shared_ptr<const RunningUnit> unit) {
  {
    const Lock lock(mutex_);
    running_.push_back({unit, Now(), 0});
  }
  next_.Started(std::move(unit));
}

void RunRecorder::Finished(std::string_view unit, const Status& outcome) {
  const ProcessUse children = ChildLedger::Get().TakeEnded(std::string(unit));
  {
    const Lock lock(mutex_);
    const auto found = std::find_if(running_.begin(), running_.end(),
                                    [unit](const Running& running) { return running.unit->unit == unit; });
    if (found != running_.end()) {
      read_ += ReadBy(*found->unit);
      text_ += TextOf(*found->unit);
      RecordedUnit record = UnitOf(*found->unit, found->since, Now(), outcome);
      record.child_cpu = children.cpu;
      record.child_read = children.read;
      record.child_written = children.written;
      record.child_rss = found->child_rss;
      Write(EncodeEvent(record));
      running_.erase(found);
    }
  }
  next_.Finished(unit, outcome);
}

void RunRecorder::Logged(std::string_view unit, std::uint64_t records, std::uint64_t bytes) {
  {
    const Lock lock(mutex_);
    written_ += bytes;
    Write(EncodeEvent(RecordedLogging{std::string(unit), Now(), records, bytes}));
  }
  next_.Logged(unit, records, bytes);
}

void RunRecorder::Advanced(std::string_view stage, std::uint64_t done, std::uint64_t of) {
  {
    const Lock lock(mutex_);
    shards_.insert_or_assign(std::string(stage), std::pair(done, of));
  }
  next_.Advanced(stage, done, of);
}

void RunRecorder::Arriving(std::string_view file, std::uint64_t here, std::uint64_t of, bool ended) {
  next_.Arriving(file, here, of, ended);
}

void RunRecorder::Note(std::string_view line) {
  {
    const Lock lock(mutex_);
    Write(EncodeEvent(RecordedNote{Now(), std::string(line)}));
  }
  next_.Note(line);
}

void RunRecorder::Loop() {
  milliseconds period = kFirstPeriod;
  for (int taken = 1;; ++taken) {
    Look();
    Lock lock(mutex_);
    if (file_ != nullptr) std::fflush(file_);  // for readers during the run and after a kill
    if (taken % kSamplesPerPeriod == 0) period *= 2;
    if (ended_.WaitFor(lock, period, [this]() REQUIRES(mutex_) { return !recording_; })) return;
  }
}

/// Looks at the processes without the lock, because there may be many.
void RunRecorder::Look(bool fresh) {
  const TreeUse& tree = tree_.Look(fresh);
  Lock lock(mutex_);
  RecordedMoment moment;
  moment.at = Now();
  moment.cpu = tree.cpu - before_.cpu;
  moment.child_cpu = tree.child_cpu - before_.child_cpu;
  moment.rss = tree.resident;
  moment.child_rss = tree.child_resident;
  moment.to_disk = tree.to_disk - before_.to_disk;
  moment.read = read_;
  moment.text = text_;
  moment.written = written_;
  for (Running& running : running_) {
    moment.read += ReadBy(*running.unit);
    moment.text += TextOf(*running.unit);
    if (const auto own = tree.own.find(running.unit->unit); own != tree.own.end())
      running.child_rss = std::max(running.child_rss, own->second.resident);
  }
  moment.units = running_.size();
  peak_rss_ = std::max(peak_rss_, moment.rss);
  Write(EncodeEvent(moment));
  if (!recording_ || moment.at - told_at_ < kTold) return;
  told_at_ = moment.at;
  const RunNow now = NowOf(moment, tree);
  lock.unlock();
  WriteNow(directory_, now);
}

RunNow RunRecorder::NowOf(const RecordedMoment& moment, const TreeUse& tree) const {
  RunNow now;
  now.at = moment.at;
  now.cpu = moment.cpu;
  now.rss = moment.rss;
  now.to_disk = moment.to_disk;
  now.written = moment.written;
  now.shards.insert(shards_.begin(), shards_.end());
  for (const Running& running : running_) {
    const RunningUnit& unit = *running.unit;
    RunNow::Unit& shown = now.units.emplace_back();
    shown.unit = unit.unit;
    shown.since = running.since;
    shown.records = unit.counters.records.load(std::memory_order_relaxed);
    shown.text = TextOf(unit);
    const bool job = unit.of.load(std::memory_order_relaxed) > 0;
    shown.done = job ? unit.done.load(std::memory_order_relaxed) : ReadBy(unit);
    shown.of =
        job ? unit.of.load(std::memory_order_relaxed) : unit.input_bytes.load(std::memory_order_relaxed);
    shown.said = unit.said();
    shown.child_cpu = ChildLedger::Get().EndedOf(unit.unit).cpu;
    if (const auto own = tree.own.find(unit.unit); own != tree.own.end()) {
      shown.child_cpu += own->second.cpu;
      shown.child_rss = own->second.resident;
    }
  }
  return now;
}

void RunRecorder::Write(const std::string& lines) {
  if (file_ == nullptr || failed_) return;
  if (std::fwrite(lines.data(), 1, lines.size(), file_) != lines.size()) failed_ = true;
}

}  // namespace pipeline
