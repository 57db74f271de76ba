// The run log in a home: segments that are created and never changed. Form and rules: dag/home/home.md
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "dag/books/run_log.h"
#include "storage/store.h"

namespace pipeline {

inline constexpr std::string_view kHomeLogPrefix = "log/";

/// The log as the segments of a home have it.
struct HomeLogText {
  std::string text;            // a run log; empty: there are no segments
  std::uint32_t next = 1;      // the number behind the last one
  std::uint32_t segments = 0;  // that were read, the one of the whole log included
};

/// Missing and damaged segments are reported in one warning: the work that only they name is done again.
Result<HomeLogText> ReadHomeLog(Store& home, std::stop_token stop = {});

/// Writes the segments of one run. A thread of its own writes lines that have waited. Safe from any thread.
class HomeLog final : public LogMirror {
 public:
  struct Terms {
    /// OK: this run still holds the home. Asked if a segment exists that this run did not write.
    std::function<Status(std::stop_token)> confirm;
    /// The whole log as this machine has it, for a segment that replaces all others.
    std::function<Result<std::string>()> whole;
    /// Called once, by the thread or by a call of Flush, if lines cannot be written for good.
    std::function<void(Status)> failed;
    std::chrono::milliseconds most_waiting{5'000};
    std::uint32_t most_segments = 128;  // of lines, before one with the whole log replaces them
  };

  /// `home` outlives this. `next` and `segments` are those of the log that was read.
  HomeLog(Store& home, std::uint32_t next, std::uint32_t segments, Terms terms);
  /// Writes what waits, for some seconds at most; a warning says what is left.
  ~HomeLog() override;
  HomeLog(const HomeLog&) = delete;
  HomeLog& operator=(const HomeLog&) = delete;

  Status Add(std::string_view lines, bool at_once) override;
  Status Flush(std::stop_token stop) override;
  /// Writes a segment with the whole log, then removes the others.
  Status WriteWhole(std::stop_token stop);

 private:
  void Loop(const std::stop_token& stop);
  Status WriteWaiting(const std::stop_token& stop) REQUIRES(writing_);
  Status WriteAll(const std::stop_token& stop) REQUIRES(writing_);
  /// Creates the segment with the next free number.
  Status Create(std::string_view bytes, std::string_view suffix, const std::stop_token& stop)
      REQUIRES(writing_);
  void Remember(const Status& failure);

  Store& home_;
  const Terms terms_;
  Mutex writing_;  // held while a segment is written; taken before mutex_
  std::uint32_t next_ GUARDED_BY(writing_);
  std::uint32_t segments_ GUARDED_BY(writing_);
  Mutex mutex_;
  ConditionVariable changed_;
  std::string lines_ GUARDED_BY(mutex_);  // not written yet
  bool at_once_ GUARDED_BY(mutex_) = false;
  Status failed_ GUARDED_BY(mutex_);  // not OK: nothing is written any more
  std::jthread thread_;               // last: it ends before the members that it uses
};

}  // namespace pipeline
