// Requests that may block, done beside the loop that waits for their answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace pipeline {

/// The kinds of errands; at most one of each kind is under way.
enum class ErrandKind : std::uint8_t { kSign, kRead, kWrite, kSearch, kCount };

class Errands {
 public:
  virtual ~Errands() = default;
  /// Calls `work` once, on another thread, and later `done` on the thread of the loop. The two share only
  /// data that both hold.
  virtual void Send(ErrandKind kind, std::function<void()> work, std::function<void()> done) = 0;
};

/// Errands on threads, for the real loop. Owned by the thread of the loop; every function is called from it.
/// The destructor waits for the errands that are under way, and calls none of their `done`.
class ThreadErrands final : public Errands {
 public:
  ThreadErrands() = default;

  void Send(ErrandKind kind, std::function<void()> work, std::function<void()> done) override;
  /// Calls `done` of each finished errand.
  void Deliver();
  /// Waits for the next finished errand, at most for `most`.
  void Wait(std::chrono::milliseconds most);

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::function<void()>> finished_ GUARDED_BY(mutex_);  // their `done`
  std::map<ErrandKind, std::jthread> threads_;                      // the last of each kind; the last member
};

}  // namespace pipeline
