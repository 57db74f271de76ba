#include "base/wait.h"

#include "base/mutex.h"

namespace pipeline {

bool WaitFor(std::chrono::milliseconds time, std::stop_token stop) {
  Mutex mutex;
  ConditionVariable never;
  Lock lock(mutex);
  never.WaitFor(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace pipeline
