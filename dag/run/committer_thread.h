// A thread that commits items in order, while another thread makes the next item.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/status.h"

namespace pipeline {

/// One thread at a time owns and feeds it. `Item` must be movable; it is never copied.
template <typename Item>
class CommitterThread {
 public:
  /// `commit` runs on this thread. After its first error, later items are dropped.
  CommitterThread(std::function<Status(Item)> commit, std::size_t waiting)
      : commit_(std::move(commit)), waiting_(waiting), thread_([this] { Loop(); }) {}

  /// Drops waiting items and waits for the current one.
  ~CommitterThread() {
    {
      const Lock lock(mutex_);
      dropped_ = finished_ = true;
      queue_.clear();
    }
    changed_.NotifyAll();
    thread_.join();
  }
  CommitterThread(const CommitterThread&) = delete;
  CommitterThread& operator=(const CommitterThread&) = delete;

  /// Adds an item. Blocks while `waiting` items wait; if `waiting` is 0, blocks until `item` is committed.
  /// Returns the first error of `commit`, if there is one.
  Status Add(Item item) {
    Lock lock(mutex_);
    changed_.Wait(lock, [this]() REQUIRES(mutex_) {
      return queue_.size() < waiting_ || !first_error_.ok() || (waiting_ == 0 && !busy_);
    });
    if (!first_error_.ok()) return first_error_;
    queue_.push_back(std::move(item));
    changed_.NotifyAll();
    if (waiting_ == 0) AwaitIdle(lock);
    return first_error_;
  }

  /// Waits until all items are committed; returns the first error.
  Status Finish() {
    Lock lock(mutex_);
    AwaitIdle(lock);
    return first_error_;
  }

 private:
  void AwaitIdle(Lock& lock) REQUIRES(mutex_) {
    changed_.Wait(lock,
                  [this]() REQUIRES(mutex_) { return (queue_.empty() && !busy_) || !first_error_.ok(); });
  }

  void Loop() {
    Lock lock(mutex_);
    while (true) {
      changed_.Wait(lock, [this]() REQUIRES(mutex_) { return finished_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Item next = std::move(queue_.front());
      queue_.pop_front();
      if (!first_error_.ok() || dropped_) continue;
      busy_ = true;
      lock.unlock();
      changed_.NotifyAll();
      Status committed = commit_(std::move(next));
      lock.lock();
      busy_ = false;
      if (!committed.ok() && first_error_.ok()) first_error_ = std::move(committed);
      changed_.NotifyAll();
    }
  }

  const std::function<Status(Item)> commit_;
  const std::size_t waiting_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Item> queue_ GUARDED_BY(mutex_);
  bool busy_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  bool dropped_ GUARDED_BY(mutex_) = false;
  Status first_error_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace pipeline
