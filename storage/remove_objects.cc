#include "storage/remove_objects.h"

#include <algorithm>
#include <cstddef>

#include "base/in_parallel.h"

namespace pipeline {

namespace {

constexpr std::size_t kAtOnce = 16;  // requests at a time: each waits for a server
// Objects of a part: a directory is locked and synced once for them, and a bucket takes them in one request.
constexpr std::size_t kSmallestPart = 16, kLargestPart = 100;

}  // namespace

Status RemoveObjects(Store& store, std::span<const ObjectInfo> objects) {
  const std::size_t most = std::max(kAtOnce, (objects.size() + kLargestPart - 1) / kLargestPart);
  const std::size_t parts = std::clamp<std::size_t>(objects.size() / kSmallestPart, 1, most);
  const std::size_t size = (objects.size() + parts - 1) / parts;
  return InParallel(size == 0 ? 0 : (objects.size() + size - 1) / size, kAtOnce, [&](std::size_t part) {
    const std::size_t begin = part * size;
    return store.RemoveAll(objects.subspan(begin, std::min(size, objects.size() - begin)),
                           [] { return true; });
  });
}

}  // namespace pipeline
