#include "storage/remove_objects.h"

#include <algorithm>
#include <cstddef>

#include "base/in_parallel.h"

namespace pipeline {

namespace {

constexpr std::size_t kAtOnce = 16;       // requests at a time: each waits for a server
constexpr std::size_t kLargestPart = 64;  // names; a directory is locked and synced once for them

}  // namespace

Status RemoveObjects(Store& store, std::span<const std::string> names) {
  const std::size_t size = std::clamp<std::size_t>(names.size() / kAtOnce, 1, kLargestPart);
  return InParallel((names.size() + size - 1) / size, kAtOnce, [&](std::size_t part) {
    const std::size_t begin = part * size;
    return store.RemoveAll(names.subspan(begin, std::min(size, names.size() - begin)), [] { return true; });
  });
}

}  // namespace pipeline
