// Directories, made and changed so that a power cut does not undo it.
#pragma once

#include <string>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Makes `path` and what is missing above it; each new directory is synced into its parent.
Status MakeDirectories(const std::string& path);

/// Makes the names that were added to, or taken from, the directory durable.
Status SyncDirectory(const std::string& path);

/// Keeps other writers of this program out of a directory's names while it lives. Waits for them.
/// Where the file system cannot lock a directory it does nothing, see storage/README.md.
class DirectoryLock {
 public:
  static Result<DirectoryLock> Acquire(const std::string& path);

 private:
  explicit DirectoryLock(FileDescriptor directory) : directory_(std::move(directory)) {}
  FileDescriptor directory_;  // closing it lets go
};

/// The part of `path` before its last `/`; "." where there is none.
std::string ParentDirectory(const std::string& path);

}  // namespace pipeline
