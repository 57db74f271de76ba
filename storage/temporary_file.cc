#include "storage/temporary_file.h"

#include <fcntl.h>

#include <cerrno>

#include "base/file_descriptor.h"
#include "base/file_lock.h"
#include "base/str.h"
#include "storage/directory.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

std::string NewPathBeside(const std::string& target) {
  const std::string object = target.substr(target.rfind('/') + 1);
  return StrCat(ParentDirectory(target), "/", NewTemporaryName(object));
}

std::string PathOf(int descriptor) { return StrCat("/proc/self/fd/", descriptor); }

}  // namespace

Result<TemporaryFile> TemporaryFile::Create(const std::string& target) {
  // Another turn is needed if the directory is missing, if a dead process with our pid left a file of this
  // name, or if a sweep came between creation and lock.
  for (int turn = 0; turn < 1000; ++turn) {
    const std::string path = NewPathBeside(target);
    FileDescriptor file = OpenPath(path, O_RDWR | O_CREAT | O_EXCL, 0666);
    if (!file.is_open()) {
      if (errno == EEXIST) continue;
      if (errno != ENOENT || turn > 10) return LocalError(target, "cannot create", errno);
      RETURN_IF_ERROR(MakeDirectories(ParentDirectory(target)));
      continue;
    }
    if (TryLock(file, LockKind::kShared) != FileLock::kTaken && IsStillAt(file, path))
      return TemporaryFile(path, std::move(file));
  }
  return Status(Code::kUnavailable,
                StrCat(target, ": cannot create: other processes keep taking the temporary's name"));
}

std::optional<TemporaryFile> TemporaryFile::Link(const std::string& target, const LocalFile& file) {
  // A second descriptor holds the lock, because the lock must end with this writer and not with `file`.
  FileDescriptor again = OpenPath(PathOf(file.descriptor()), O_RDONLY);
  if (!again.is_open() || TryLock(again, LockKind::kShared) == FileLock::kTaken) return std::nullopt;
  std::string path = NewPathBeside(target);
  if (linkat(AT_FDCWD, PathOf(again.get()).c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return std::nullopt;
  return TemporaryFile(std::move(path), std::move(again));
}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Status RemoveAbandoned(const std::string& path, const TemporaryName& name) {
  const FileDescriptor file = OpenPath(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (!file.is_open()) {
    const bool not_ours = errno == EACCES || errno == EPERM || errno == EROFS;
    return errno == ENOENT || not_ours ? Status() : LocalError(path, "cannot open", errno);
  }
  const FileLock lock = TryLock(file, LockKind::kAlone);
  if (lock == FileLock::kTaken || (lock == FileLock::kUnsupported && !WriterIsGone(name))) return {};
  // Another sweep may have removed the file, and a writer with the same pid may have created a new one.
  if (!IsStillAt(file, path)) return {};
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return LocalError(path, "cannot remove", errno);
  return {};
}

}  // namespace pipeline
