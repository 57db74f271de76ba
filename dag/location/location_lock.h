// The lock of a location on this machine: one run at a time. The kernel holds it, so that no kill leaves it
// behind. Rules: dag/location/lease.md
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Holds the lock during its lifetime. Programs that this one starts do not inherit it.
class LocationLock {
 public:
  /// Locks `directory`/.pipe/lock, and makes both if they are missing. kFailedPrecondition: a living
  /// process holds it; the message has that process's `who`. Null: the file system has no such locks.
  static Result<std::unique_ptr<LocationLock>> Take(const std::string& directory, std::string_view who);
  ~LocationLock();
  LocationLock(const LocationLock&) = delete;
  LocationLock& operator=(const LocationLock&) = delete;

 private:
  explicit LocationLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

}  // namespace pipeline
