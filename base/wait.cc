#include "base/wait.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace pipeline {

bool WaitFor(std::chrono::milliseconds time, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace pipeline
