// One run at a time at a place on this machine: the kernel holds the lock, so that no kill leaves it behind.
// dag/place/lease.md
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Held while it lives, and not by programs that this one starts.
class PlaceLock {
 public:
  /// Locks `directory`/.pipe/lock, and makes both where they are missing. kFailedPrecondition where a living
  /// process holds it, named as it called itself (`who`). Null where the file system has no such locks.
  static Result<std::unique_ptr<PlaceLock>> Take(const std::string& directory, std::string_view who);
  ~PlaceLock();
  PlaceLock(const PlaceLock&) = delete;
  PlaceLock& operator=(const PlaceLock&) = delete;

 private:
  explicit PlaceLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

}  // namespace pipeline
