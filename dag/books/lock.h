// The lock of a work directory: one run at a time. The kernel holds it, so that no kill leaves it behind. The
// file's text is for people and for the next owner:
//
//   pid=4711 boot=1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed since=2026-01-31T12:00:00Z state=running
//
// An owner that ends in good order writes `state=ended`. Text that cannot be read is ignored.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Holds the lock during its lifetime. Programs that this one starts do not inherit it.
class WorkLock {
 public:
  /// kFailedPrecondition: a living process holds it; the message names that process. Taking over from a
  /// dead owner is logged in one line.
  static Result<std::unique_ptr<WorkLock>> Take(const std::string& work_dir, const Clock& clock);
  /// Returns whether a process of this machine works there, according to the file. Takes no lock, so that
  /// it never keeps a run from beginning.
  static bool IsHeld(const std::string& work_dir);
  ~WorkLock();
  WorkLock(const WorkLock&) = delete;
  WorkLock& operator=(const WorkLock&) = delete;

 private:
  WorkLock(FileDescriptor file, std::string text);
  FileDescriptor file_;
  std::string text_;  // without the state
};

}  // namespace pipeline
