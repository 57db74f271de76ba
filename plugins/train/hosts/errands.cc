#include "plugins/train/hosts/errands.h"

#include <utility>

namespace pipeline {

void ThreadErrands::Send(ErrandKind kind, std::function<void()> work, std::function<void()> done) {
  // Assigning joins the errand of this kind before, which has ended: there is one at a time.
  threads_[kind] = std::jthread([this, work = std::move(work), done = std::move(done)]() mutable {
    work();
    const Lock lock(mutex_);
    finished_.push_back(std::move(done));
    changed_.NotifyAll();
  });
}

void ThreadErrands::Deliver() {
  std::vector<std::function<void()>> finished;
  {
    const Lock lock(mutex_);
    finished.swap(finished_);
  }
  for (const std::function<void()>& done : finished) done();
}

void ThreadErrands::Wait(std::chrono::milliseconds most) {
  Lock lock(mutex_);
  changed_.WaitFor(lock, most, [this]() REQUIRES(mutex_) { return !finished_.empty(); });
}

}  // namespace pipeline
