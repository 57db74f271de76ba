// The thread that commits closed partitions while the next one is being written: a commit inside the
// in-order sink would stall decoding by a seventh (measured).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/status.h"
#include "dag/segment.h"

namespace pipeline {

/// Owned by one segment run; fed by one thread at a time.
class Closer {
 public:
  /// `close` runs on the closing thread, in order. After it failed, later partitions are dropped.
  Closer(std::function<Status(ClosedPartition)> close, std::size_t waiting);
  /// Drops what waits and has not begun.
  ~Closer();

  /// Blocks while as many partitions wait as may. The first error of `close`, once there is one.
  Status Add(ClosedPartition partition);
  /// Waits until all is closed; the first error.
  Status Finish();

 private:
  void Loop();

  const std::function<Status(ClosedPartition)> close_;
  const std::size_t waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ClosedPartition> queue_;  // guarded by mutex_, like all below
  bool busy_ = false;
  bool finished_ = false;
  bool dropped_ = false;
  Status first_error_;
  std::thread thread_;
};

}  // namespace pipeline
