// Our children: which work each was started for, and what those took that have ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace pipeline {

/// Processor time and bytes of a process, and of those of its children that it waited for.
struct ProcessUse {
  double cpu = 0;             // seconds of the processors
  std::uint64_t read = 0;     // bytes by calls that read: files, pipes, sockets
  std::uint64_t written = 0;  // the same by calls that write
  ProcessUse& operator+=(const ProcessUse& other) {
    cpu += other.cpu, read += other.read, written += other.written;
    return *this;
  }
};

/// While it lives, the children that its thread starts belong to `owner`.
class ChildOwner {
 public:
  explicit ChildOwner(std::string owner);
  ~ChildOwner();
  ChildOwner(const ChildOwner&) = delete;
  ChildOwner& operator=(const ChildOwner&) = delete;

  /// The owner that the calling thread has; if absent: empty.
  static std::string Current();

 private:
  std::string former_;
};

/// Safe from any thread.
class ChildLedger {
 public:
  /// That of this process. A plugin that is linked by itself has one of its own, and tells the program of its
  /// children: plugins/ABI.md, section 8.
  static ChildLedger& Get();

  void Began(pid_t child, const std::string& owner);
  /// Nothing where it never began.
  void Ended(pid_t child, const ProcessUse& use);

  /// Owners of children that live, by child.
  std::map<pid_t, std::string> Living() const;
  /// All that ended children of `owner` took.
  ProcessUse EndedOf(const std::string& owner) const;
  /// The same; nothing of it is kept.
  ProcessUse TakeEnded(const std::string& owner);

 private:
  mutable Mutex mutex_;
  std::map<pid_t, std::string> living_ GUARDED_BY(mutex_);
  std::map<std::string, ProcessUse> ended_ GUARDED_BY(mutex_);  // by owner
};

}  // namespace pipeline
