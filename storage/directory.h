// Creates and changes directories durably: a power cut does not undo a change.
#pragma once

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

}  // namespace pipeline
