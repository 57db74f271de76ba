// Creates and changes directories durably, so that a power cut does not undo a change, and asks about their
// file system.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Creates `path` and all missing directories above it. Syncs each new directory into its parent.
Status MakeDirectories(const std::string& path);

/// Makes added and removed names in the directory durable.
Status SyncDirectory(const std::string& path);

/// While it lives, no other writer of this program changes names in the directory. Acquire waits for other
/// writers. If the file system cannot lock a directory, it has no effect: see storage/README.md.
class DirectoryLock {
 public:
  static Result<DirectoryLock> Acquire(const std::string& path);

 private:
  explicit DirectoryLock(FileDescriptor directory) : directory_(std::move(directory)) {}
  FileDescriptor directory_;  // closing it releases the lock
};

/// Returns the part of `path` before its last `/`; "." if there is no `/`.
std::string ParentDirectory(const std::string& path);

/// For a directory below a path where every user of the machine may write, such as /var/tmp: another user may
/// have created one first, to read data that is put there or to plant false data.
///
/// Creates `path` with mode 0700, and all missing directories above it. An existing `path` must be a
/// directory, not a link to one, that this user owns and no other user can write to; otherwise
/// kPermissionDenied with advice. If the directory above is sticky, like /var/tmp, this stays true.
Status MakeOwnDirectory(const std::string& path);

/// Number of bytes that this user may still write to the file system of `path`, which may not exist yet.
Result<std::uint64_t> FreeBytes(const std::string& path);

/// True if hard links and renames between the two paths, which may not exist yet, can work.
Result<bool> SameFileSystem(const std::string& a, const std::string& b);

}  // namespace pipeline
