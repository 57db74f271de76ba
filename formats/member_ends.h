// The ends of the members of a compressed file: decoding can begin there.
#pragma once

#include <cstdint>
#include <deque>

#include "base/mutex.h"

namespace pipeline {

/// The same place in a compressed file and in its decoded bytes.
struct StreamPosition {
  std::uint64_t stored = 0;
  std::uint64_t raw = 0;
  bool operator==(const StreamPosition&) const = default;
};

/// The ends of the members that a decoder has passed: frames of zstd and lz4, members of gzip, streams of
/// bzip2. What follows is decoded without what is before. Safe from any thread.
class MemberEnds {
 public:
  void Add(const StreamPosition& end) {
    const Lock lock(mutex_);
    ends_.push_back(end);
  }
  /// Returns the last end at or before `raw`, or the begin of the file, and forgets those before it: a later
  /// call asks for the same or more. Several readers may add their ends in any order.
  StreamPosition LastUpTo(std::uint64_t raw) {
    const Lock lock(mutex_);
    while (!ends_.empty() && ends_.front().raw <= raw) {
      if (ends_.front().raw >= last_.raw) last_ = ends_.front();
      ends_.pop_front();
    }
    return last_;
  }

 private:
  Mutex mutex_;
  std::deque<StreamPosition> ends_ GUARDED_BY(mutex_);
  StreamPosition last_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
