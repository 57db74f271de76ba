#include "storage/kept_part.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/file_lock.h"
#include "base/str.h"
#include "storage/directory.h"
#include "storage/local_error.h"
#include "storage/local_names.h"

namespace pipeline {

namespace {

constexpr int kOpenTurns = 100;

Status Taken(const std::string& path) {
  return Status(Code::kFailedPrecondition, StrCat(path, ": somebody else works at it"))
      .With(std::make_shared<PartIsTaken>());
}

FileDescriptor OpenAt(const std::string& path, int flags) {
  return OpenPath(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | flags, 0666);
}

Status Unlink(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return LocalError(path, "cannot remove", errno);
}

bool IsOld(const struct stat& found) {
  return found.st_mtim.tv_sec + kKeptSeconds < SystemClock().UnixMillis() / 1000;
}

}  // namespace

std::string KeptPartPath(const std::string& target) {
  return StrCat(ParentDirectory(target), "/", KeptPartName(target.substr(target.rfind('/') + 1)));
}

Result<FileDescriptor> OpenKeptPart(const std::string& path) {
  RETURN_IF_ERROR(MakeDirectories(ParentDirectory(path)));
  // Another turn is needed if the last owner removed or published the part after it was opened here.
  for (int turn = 0; turn < kOpenTurns; ++turn) {
    FileDescriptor file = OpenAt(path, O_CREAT);
    const bool is_not_ours = errno == EACCES || errno == EPERM || errno == ELOOP || errno == EISDIR;
    if (!file.is_open()) return is_not_ours ? Taken(path) : LocalError(path, "cannot open", errno);
    if (TryLock(file, LockKind::kAlone) != FileLock::kHeld) return Taken(path);
    struct stat found;
    if (fstat(file.get(), &found) != 0) return LocalError(path, "cannot look at it", errno);
    if (!S_ISREG(found.st_mode) || found.st_uid != geteuid()) return Taken(path);
    if (!IsStillAt(file, path)) continue;
    if (found.st_nlink == 1) return file;
    RETURN_IF_ERROR(Unlink(path));  // another file has these bytes too, so nobody may write to them
  }
  return Taken(path);
}

Status RemoveKeptPart(const std::string& path) {
  const FileDescriptor file = OpenAt(path, 0);
  // Another error: the part is not ours.
  if (!file.is_open()) return errno == ENOENT ? Unlink(StrCat(path, kJournalSuffix)) : Status();
  if (TryLock(file, LockKind::kAlone) == FileLock::kTaken || !IsStillAt(file, path)) return {};
  // The journal goes first, because a part without a journal counts for nothing.
  RETURN_IF_ERROR(Unlink(StrCat(path, kJournalSuffix)));
  return Unlink(path);
}

Status RemoveOldPart(const std::string& path) {
  struct stat found;
  if (lstat(path.c_str(), &found) != 0 || !IsOld(found) || found.st_uid != geteuid()) return {};
  if (!path.ends_with(kJournalSuffix)) return RemoveKeptPart(path);
  // The journal stays as long as its part.
  if (lstat(path.substr(0, path.size() - kJournalSuffix.size()).c_str(), &found) == 0) return {};
  return Unlink(path);
}

}  // namespace pipeline
