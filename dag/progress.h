// The progress of a run. Counters are plain numbers that any thread adds to and one thread reads;
// events are for the display.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/str.h"
#include "dag/records/batch.h"

namespace pipeline {

/// Counters of one running unit. Written by its threads, read by the status display.
struct SegmentProgress {
  explicit SegmentProgress(std::size_t stages) : busy_ns(stages + 1) {}

  std::atomic<std::uint64_t> text_bytes{0};  // text that reached the Sink
  std::atomic<std::uint64_t> records{0};
  std::atomic<std::uint64_t> partitions{0};  // closed
  std::atomic<std::uint64_t> cpu_ns{0};      // processor time of the unit's own threads in its stages
  /// Time spent inside each stage, summed over threads; the last one is the wait for the committer thread.
  /// The stage that is always busy is the bottleneck.
  std::vector<std::atomic<std::uint64_t>> busy_ns;
};

/// One unit that runs now, as the display shows it.
struct RunningUnit {
  std::string unit;                           // "text/0000-*"
  std::vector<std::string> stages;            // names for SegmentProgress::busy_ns
  std::atomic<std::uint64_t> input_bytes{0};  // size of its input, as stored; 0: unknown
  std::atomic<std::uint64_t> input_read{0};
  /// Progress in a measure of its own: bytes, steps. `of` is 0 if it does not know.
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> of{0};
  SegmentProgress counters;

  /// Sets the status line of a Job, or of a unit on its way; the next one replaces it. Safe from any thread,
  /// as said() is.
  void Say(std::string_view line) {
    const Lock lock(mutex_);
    said_ = line;
  }
  /// Empty: the unit has set no status line.
  std::string said() const {
    const Lock lock(mutex_);
    return said_;
  }

  RunningUnit(std::string name, std::vector<std::string> stage_names, std::uint64_t bytes)
      : unit(std::move(name)), stages(std::move(stage_names)), input_bytes(bytes), counters(stages.size()) {}

 private:
  mutable Mutex mutex_;
  std::string said_ GUARDED_BY(mutex_);
};

/// Tells of a unit that it only passes over the text up to `to`, where an earlier run ended. A Source asks
/// for partitions when it chooses where to begin, up to the first that is lacking, and again for each that it
/// reads. One thread.
class WayToNewText {
 public:
  /// `unit` outlives it. `to` 0: there is no such text.
  WayToNewText(RunningUnit& unit, std::uint64_t to) : unit_(unit), to_(to) {}

  /// The Source was asked for a partition that exists and begins at byte `at` of the text.
  void Passes(std::uint64_t at) {
    if (to_ == 0 || arrived_) return;
    unit_.Say(StrCat("skipping to ", HumanBytes(to_), " of text, where the earlier run ended"));
    Count(at, chosen_ ? to_ : 0);
  }
  /// It was asked for one that is lacking.
  void Wants() {
    if (to_ == 0 || arrived_) return;
    arrived_ = std::exchange(chosen_, true);
    if (!arrived_) return;
    unit_.Say({});
    Count(0, 0);
  }

 private:
  void Count(std::uint64_t done, std::uint64_t of) {
    unit_.done.store(done, std::memory_order_relaxed);
    unit_.of.store(of, std::memory_order_relaxed);
  }

  RunningUnit& unit_;
  const std::uint64_t to_;
  bool chosen_ = false;  // where to begin
  bool arrived_ = false;
};

/// Watches one batch on its way through the chain of a segment. One thread.
class BatchProbe {
 public:
  virtual ~BatchProbe() = default;
  /// Shows `batch` after stage number `stage`. Stage 0 is the Source with its repair, or the partition
  /// files that are read.
  virtual void Left(std::uint32_t stage, const Batch& batch) = 0;
};

/// Watches some records between the stages, for the report. It changes nothing. Safe from any thread.
class RecordObserver {
 public:
  virtual ~RecordObserver() = default;
  /// Shows `batch` as it came from the Source. Null: none of its records is watched; finding that out must
  /// cost almost nothing. `stages` are the names of the segment's stages by number.
  virtual std::unique_ptr<BatchProbe> Watch(const Batch& batch, const std::vector<std::string>& stages) = 0;
};

/// Receives events from the executor, on any thread. Note may be called while the executor holds its lock,
/// so an implementation never calls back.
class Progress {
 public:
  virtual ~Progress() = default;
  /// The first unit of `stage`, the last stage of its segment, begins in this run. May be called again.
  virtual void StageBegan(std::string_view stage) = 0;
  /// Everything that the run wanted of `stage` is complete.
  virtual void StageDone(std::string_view stage) = 0;
  /// `unit` stays valid and up to date until both sides have dropped it.
  virtual void Started(std::shared_ptr<const RunningUnit> unit) = 0;
  virtual void Finished(std::string_view unit, const Status& outcome) = 0;
  /// A partition, a shard or a Job was logged.
  virtual void Logged(std::string_view unit, std::uint64_t records, std::uint64_t bytes) = 0;
  /// `done` of `of` shards or units of `stage` are done.
  virtual void Advanced(std::string_view stage, std::uint64_t done, std::uint64_t of) = 0;
  /// `here` of `of` bytes of a remote file are on this machine. `ended`: no more will come for now, whether
  /// the file is complete or not.
  virtual void Arriving(std::string_view file, std::uint64_t here, std::uint64_t of, bool ended) = 0;
  /// One line for people: an artifact was published, a partition will be made again, ...
  virtual void Note(std::string_view line) = 0;
};

}  // namespace pipeline
