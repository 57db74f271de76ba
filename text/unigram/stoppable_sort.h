// Sorts large vectors, and ends soon after a stop is requested.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stop_token>
#include <utility>
#include <vector>

namespace pipeline {

/// Sorts short runs and merges them. `less` is a total order. `buffer` is memory that calls may share. False:
/// stopped; the order of `items` is unspecified then.
template <class Item, class Less>
bool SortUnlessStopped(std::vector<Item>& items, std::vector<Item>& buffer, const Less& less,
                       const std::stop_token& stop) {
  constexpr std::size_t kRun = 1 << 14;  // items between two looks at the stop token
  const std::size_t size = items.size();
  for (std::size_t begin = 0; begin < size; begin += kRun) {
    if (stop.stop_requested()) return false;
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, first + static_cast<std::ptrdiff_t>(std::min(kRun, size - begin)), less);
  }
  for (std::size_t run = kRun; run < size; run *= 2) {
    buffer.resize(size);
    for (std::size_t begin = 0; begin < size; begin += 2 * run) {
      const std::size_t middle = std::min(begin + run, size), end = std::min(middle + run, size);
      std::size_t one = begin, other = middle;
      for (std::size_t to = begin; to < end; ++to) {
        if (to % kRun == 0 && stop.stop_requested()) return false;
        const bool take_other = one == middle || (other < end && less(items[other], items[one]));
        buffer[to] = std::move(items[take_other ? other++ : one++]);
      }
    }
    items.swap(buffer);
  }
  return true;
}

}  // namespace pipeline
