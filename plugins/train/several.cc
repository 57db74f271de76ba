#include "plugins/train/several.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace pipeline {

Status RunSeveral(std::size_t count, std::size_t at_once, const std::function<Status(std::size_t)>& task) {
  Mutex mutex;  // guards `next` and `first`
  std::size_t next = 0;
  Status first;
  const auto work = [&] {
    while (true) {
      std::size_t mine = 0;
      {
        const Lock lock(mutex);
        if (next == count || !first.ok()) return;
        mine = next++;
      }
      Status done = task(mine);
      const Lock lock(mutex);
      if (!done.ok() && first.ok()) first = std::move(done);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t more = 1; more < std::min(count, at_once); ++more) others.emplace_back(work);
  work();
  others.clear();  // joins
  return first;
}

}  // namespace pipeline
