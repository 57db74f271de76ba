// One run at a time in a work directory. The kernel holds the lock, so that no kill leaves it behind;
// the file's text is for people and for the next owner:
//
//   pid=4711 boot=1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed since=2026-01-31T12:00:00Z state=running
//
// `state=ended` is written by an owner that ends in good order. Text that cannot be read is no obstacle.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace pipeline {

/// Held while it lives, and not by programs that this one starts.
class WorkLock {
 public:
  /// kFailedPrecondition when a living process holds it, naming that process. Taking over from an
  /// owner that died is logged in one line.
  static Result<std::unique_ptr<WorkLock>> Take(const std::string& work_dir, const Clock& clock);
  /// Whether a process of this machine works there, by what the file says; takes no lock, so that no run is
  /// kept from beginning.
  static bool IsHeld(const std::string& work_dir);
  ~WorkLock();
  WorkLock(const WorkLock&) = delete;
  WorkLock& operator=(const WorkLock&) = delete;

 private:
  WorkLock(int fd, std::string text);
  int fd_;
  std::string text_;  // without the state
};

}  // namespace pipeline
