// Child processes: the work for which each was started, and the resources that ended children used.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace pipeline {

/// Processor time and bytes of a process, including children that it waited for.
struct ProcessUse {
  double cpu = 0;             // processor seconds
  std::uint64_t read = 0;     // bytes from read calls: files, pipes, sockets
  std::uint64_t written = 0;  // bytes to write calls, as above
  ProcessUse& operator+=(const ProcessUse& other) {
    cpu += other.cpu, read += other.read, written += other.written;
    return *this;
  }
};

/// While it lives, children that its thread starts belong to `owner`.
class ChildOwner {
 public:
  explicit ChildOwner(std::string owner);
  ~ChildOwner();
  ChildOwner(const ChildOwner&) = delete;
  ChildOwner& operator=(const ChildOwner&) = delete;

  /// Owner of the calling thread; empty: none.
  static std::string Current();

 private:
  std::string former_;
};

/// Safe from any thread.
class ChildLedger {
 public:
  /// The ledger of this process. A plugin that is linked separately has its own, and reports its children
  /// to the program: plugins/ABI.md, section 8.
  static ChildLedger& Get();

  void Began(pid_t child, const std::string& owner);
  /// No effect without Began.
  void Ended(pid_t child, const ProcessUse& use);

  /// Owners of living children, by child.
  std::map<pid_t, std::string> Living() const;
  /// Total use of all ended children of `owner`.
  ProcessUse EndedOf(const std::string& owner) const;
  /// The same; removes it from the ledger.
  ProcessUse TakeEnded(const std::string& owner);

 private:
  mutable Mutex mutex_;
  std::map<pid_t, std::string> living_ GUARDED_BY(mutex_);
  std::map<std::string, ProcessUse> ended_ GUARDED_BY(mutex_);  // by owner
};

}  // namespace pipeline
