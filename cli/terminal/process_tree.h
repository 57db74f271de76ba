// Measures the resources that this program and its descendants use at one moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace pipeline {

/// The usage of the children of one owner (base/child_ledger.h) and their descendants.
struct OwnedUse {
  double cpu = 0;              // seconds so far, of living processes
  std::uint64_t resident = 0;  // bytes now
};

struct TreeUse {
  double cpu = 0;                       // seconds so far, of this process and its descendants
  double child_cpu = 0;                 // the part of `cpu` outside this process
  std::uint64_t resident = 0;           // bytes now, of all processes; shared pages count more than once
  std::uint64_t child_resident = 0;     // the part of `resident` outside this process
  std::uint64_t to_disk = 0;            // bytes written to disks so far by all processes; 0: not counted
  std::map<std::string, OwnedUse> own;  // by owner; without children that have no owner
};

/// One thread at a time.
class ProcessTree {
 public:
  /// Measures this process at each call. Searches all processes of the machine for its descendants at most
  /// four times per second, and less often if that takes over 1% of the time; `fresh`: now.
  const TreeUse& Look(bool fresh = false);

  /// The peak memory of any single process, as the kernel recorded it.
  static std::uint64_t PeakOfOne();

 private:
  void LookAtChildren();

  TreeUse use_;
  double waited_for_ = 0;             // of children, at the last search
  double living_cpu_ = 0;             // of children that were still running then
  std::chrono::nanoseconds next_{0};  // when to search for children again, on the monotonic clock
};

}  // namespace pipeline
