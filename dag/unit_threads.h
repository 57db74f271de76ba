// The threads of the units that run now.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <thread>

#include "base/mutex.h"

namespace pipeline {

/// Guarded by a mutex of its owner: every method is called with it held, and `lock` is that hold.
class UnitThreads {
 public:
  /// What a unit takes of the machine: a Job waits or has threads of its own, and keeps no other unit out.
  enum class Load : std::uint8_t { kProcessing, kJob };

  /// Runs `work` on a thread of its own; then, with `mutex` held, what it returned.
  void Start(Mutex& mutex, Load load, std::function<std::function<void()>()> work);
  /// Joins every thread whose work is done; gives the lock away meanwhile.
  void JoinFinished(Lock& lock) NO_THREAD_SAFETY_ANALYSIS;  // it is called with `lock` held

  bool empty() const { return threads_.empty(); }
  bool any_finished() const { return finished_ > 0; }
  /// How many run that are no Jobs.
  int processing() const { return processing_; }

 private:
  struct Running {
    std::thread thread;
    bool finished = false;
  };

  std::list<Running> threads_;
  std::size_t finished_ = 0;
  int processing_ = 0;
};

}  // namespace pipeline
