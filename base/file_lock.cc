#include "base/file_lock.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/file_descriptor.h"

namespace pipeline {

FileLock TryLock(const FileDescriptor& file, LockKind kind) {
  const int how = (kind == LockKind::kAlone ? LOCK_EX : LOCK_SH) | LOCK_NB;
  if (Uninterrupted([&] { return flock(file.get(), how); }) == 0) return FileLock::kHeld;
  return errno == EWOULDBLOCK ? FileLock::kTaken : FileLock::kUnsupported;
}

void WaitForLock(const FileDescriptor& file) {
  (void)Uninterrupted([&] { return flock(file.get(), LOCK_EX); });
}

void Unlock(const FileDescriptor& file) { (void)flock(file.get(), LOCK_UN); }

bool IsStillAt(const FileDescriptor& file, const std::string& path) {
  struct stat open_file, named;
  return fstat(file.get(), &open_file) == 0 && lstat(path.c_str(), &named) == 0 &&
         open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

}  // namespace pipeline
