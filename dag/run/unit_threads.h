// The threads of the running units.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <thread>

#include "base/mutex.h"

namespace pipeline {

/// A mutex of the owner guards it: every method is called with the mutex held, and `lock` holds it.
class UnitThreads {
 public:
  /// The load of a unit on the machine. A Job waits or has threads of its own, and keeps no other unit out.
  enum class Load : std::uint8_t { kProcessing, kJob };

  /// Runs `work` on a new thread and then, with `mutex` held, the function that `work` returned.
  void Start(Mutex& mutex, Load load, std::function<std::function<void()>()> work);
  /// Joins every thread whose work is done; releases the lock meanwhile.
  void JoinFinished(Lock& lock) NO_THREAD_SAFETY_ANALYSIS;  // it is called with `lock` held

  bool empty() const { return threads_.empty(); }
  bool any_finished() const { return finished_ > 0; }
  /// Number of running units that are no Jobs.
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
