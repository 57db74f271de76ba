#include "dag/run/unit_threads.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"

namespace pipeline {

void UnitThreads::Start(Mutex& mutex, Load load, std::function<std::function<void()>()> work) {
  if (load == Load::kProcessing) ++processing_;
  Running& running = threads_.emplace_back();
  running.thread = std::thread([this, &mutex, &running, load, work = std::move(work)] {
    const std::function<void()> report = work();
    const Lock lock(mutex);
    if (load == Load::kProcessing) --processing_;
    running.finished = true;
    ++finished_;
    report();
  });
}

void UnitThreads::JoinFinished(Lock& lock) {
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
