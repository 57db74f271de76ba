// What this program takes of the machine together with all that it started, at one moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace pipeline {

/// What the children of one owner take (base/child_ledger.h), and what they started.
struct OwnedUse {
  double cpu = 0;              // seconds so far, of those that live
  std::uint64_t resident = 0;  // bytes just now
};

struct TreeUse {
  double cpu = 0;                       // seconds so far: this process, its children, theirs
  double child_cpu = 0;                 // the part of it that is not this process
  std::uint64_t resident = 0;           // bytes just now, of all; what two of them share counts twice
  std::uint64_t child_resident = 0;     // the part of it that is not this process
  std::uint64_t to_disk = 0;            // bytes so far that disks had to write for all; 0 where nobody counts
  std::map<std::string, OwnedUse> own;  // by owner; none of a child that nobody owns
};

/// One thread at a time.
class ProcessTree {
 public:
  /// This process is looked at each time. All processes of the machine are looked through for its children at
  /// most four times a second, and rarer where that takes more than a hundredth of the time; `fresh`: now.
  const TreeUse& Look(bool fresh = false);

  /// The most that any single process took, by what the kernel remembers.
  static std::uint64_t PeakOfOne();

 private:
  void LookAtChildren();

  TreeUse use_;
  double waited_for_ = 0;             // of children, when they were looked at last
  double living_cpu_ = 0;             // of those that were not waited for then
  std::chrono::nanoseconds next_{0};  // when to look at children again, by the monotonic clock
};

}  // namespace pipeline
