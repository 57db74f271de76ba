#include "dag/unit_threads.h"

#include <algorithm>
#include <utility>

namespace pipeline {

void UnitThreads::Start(std::mutex& mutex, Load load, std::function<std::function<void()>()> work) {
  if (load == Load::kProcessing) ++processing_;
  Running& running = threads_.emplace_back();
  running.thread = std::thread([this, &mutex, &running, load, work = std::move(work)] {
    const std::function<void()> report = work();
    const std::scoped_lock lock(mutex);
    if (load == Load::kProcessing) --processing_;
    running.finished = true;
    ++finished_;
    report();
  });
}

void UnitThreads::JoinFinished(std::unique_lock<std::mutex>& lock) {
  while (finished_ > 0) {
    const auto done =
        std::find_if(threads_.begin(), threads_.end(), [](const Running& unit) { return unit.finished; });
    std::thread thread = std::move(done->thread);
    threads_.erase(done);
    --finished_;
    lock.unlock();
    thread.join();
    lock.lock();
  }
}

}  // namespace pipeline
