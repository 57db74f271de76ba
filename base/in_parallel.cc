#include "base/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace pipeline {

Status InParallel(std::size_t count, std::size_t threads, const std::function<Status(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  Mutex mutex;
  Status first;
  std::size_t lowest = count;
  const auto run = [&] {
    for (std::size_t at = next++; at < count && !failed; at = next++) {
      Status done = work(at);
      if (done.ok()) continue;
      failed = true;
      const Lock lock(mutex);
      if (at >= lowest) continue;
      lowest = at;
      first = std::move(done);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t other = 1; other < std::min(threads, count); ++other) others.emplace_back(run);
  run();
  others.clear();
  return first;
}

}  // namespace pipeline
