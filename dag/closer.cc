#include "dag/closer.h"

#include <utility>

namespace pipeline {

Closer::Closer(std::function<Status(ClosedPartition)> close, std::size_t waiting)
    : close_(std::move(close)), waiting_(waiting), thread_([this] { Loop(); }) {}

Closer::~Closer() {
  {
    const std::scoped_lock lock(mutex_);
    dropped_ = finished_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

Status Closer::Add(ClosedPartition partition) {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [this] { return queue_.size() < waiting_ || !first_error_.ok() || (waiting_ == 0 && !busy_); });
  if (!first_error_.ok()) return first_error_;
  queue_.push_back(std::move(partition));
  changed_.notify_all();
  if (waiting_ == 0) changed_.wait(lock, [this] { return (queue_.empty() && !busy_) || !first_error_.ok(); });
  return first_error_;
}

Status Closer::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (queue_.empty() && !busy_) || !first_error_.ok(); });
  return first_error_;
}

void Closer::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return finished_ || !queue_.empty(); });
    if (queue_.empty()) return;
    ClosedPartition next = std::move(queue_.front());
    queue_.pop_front();
    if (!first_error_.ok() || dropped_) continue;
    busy_ = true;
    lock.unlock();
    changed_.notify_all();
    Status closed = close_(std::move(next));
    lock.lock();
    busy_ = false;
    if (!closed.ok() && first_error_.ok()) first_error_ = std::move(closed);
    changed_.notify_all();
  }
}

}  // namespace pipeline
