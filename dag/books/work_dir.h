// A work directory: the paths in it, and its lock.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// The paths. It knows where things are, not their contents. Immutable. All paths begin with the given path.
class WorkDir {
 public:
  explicit WorkDir(std::string path);

  /// Makes the directory and its missing subdirectories.
  Status Create() const;

  const std::string& path() const { return path_; }
  std::string log() const;   // dag/books/run_log.md
  std::string lock() const;  // of WorkLock
  std::string artifacts() const;
  std::string spool() const;    // objects on their way to a bucket
  std::string sources() const;  // downloads: storage/remote/http/part_file.md
  std::string kept() const;     // copies of remote objects that Jobs keep from one run to the next
  std::string cache() const;    // of the scratch of a home: storage/cache/cache.md
  std::string hosts() const;    // of machines that follow another one: a work directory each
  std::string host(int number) const;
  std::string runs() const;
  std::string run(std::string_view id) const;  // the reports of one run
  /// Directory of the stage with this recipe, for its partition outputs and intermediates.
  std::string artifact(std::string_view stage, const Digest& recipe) const;

  /// Returns "clean-0123456789abcdef": the first 16 digits distinguish the recipes of one stage, and the
  /// path stays legible. It names an artifact's directory and its quarantine.
  static std::string ArtifactName(std::string_view stage, const Digest& recipe);

 private:
  std::string path_;
};

/// The lock of a work directory: one run at a time. The kernel holds it, so that no kill leaves it behind.
/// The file's text is for people and for the next owner:
///
///   pid=4711 boot=1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed since=2026-01-31T12:00:00Z state=running
///
/// An owner that ends in good order writes `state=ended`. Text that cannot be read is ignored.
///
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
