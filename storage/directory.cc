#include "storage/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/file_descriptor.h"
#include "base/file_lock.h"
#include "base/str.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

FileDescriptor OpenDirectory(const std::string& path) { return OpenPath(path, O_RDONLY | O_DIRECTORY); }

Status Refuse(const std::string& path, std::string_view why, std::string_view remedy) {
  return Status(Code::kPermissionDenied, StrCat(path, ": ", why, ": nothing is put there; ", remedy));
}

struct Existing {
  std::string path;
  dev_t device;
};

/// Returns `path`, or the nearest existing directory above it.
Result<Existing> NearestExisting(const std::string& path) {
  for (std::string at = path;; at = ParentDirectory(at)) {
    struct stat found;
    if (stat(at.c_str(), &found) == 0) return Existing{at, found.st_dev};
    if ((errno != ENOENT && errno != ENOTDIR) || at == "." || at == "/")
      return LocalError(at, "cannot look at it", errno);
  }
}

}  // namespace

std::string ParentDirectory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status MakeDirectories(const std::string& path) {
  std::vector<std::string> missing;
  for (std::string at = path;; at = ParentDirectory(at)) {
    struct stat found;
    if (stat(at.c_str(), &found) == 0) {
      if (!S_ISDIR(found.st_mode)) return LocalError(path, "cannot make this directory", ENOTDIR);
      break;
    }
    // ENOTDIR: a part of the path further up is a file; a later turn of this loop refuses it.
    if ((errno != ENOENT && errno != ENOTDIR) || at == "." || at == "/")
      return LocalError(at, "cannot make this directory", errno);
    missing.push_back(at);
  }
  for (; !missing.empty(); missing.pop_back()) {
    const std::string& directory = missing.back();
    if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
      return LocalError(directory, "cannot make this directory", errno);
    RETURN_IF_ERROR(SyncDirectory(ParentDirectory(directory)));
  }
  return {};
}

Status SyncDirectory(const std::string& path) {
  const FileDescriptor directory = OpenDirectory(path);
  if (!directory.is_open()) return LocalError(path, "cannot open this directory", errno);
  // EINVAL: the file system cannot sync directories, because it writes names at once.
  if (Uninterrupted([&] { return fsync(directory.get()); }) != 0 && errno != EINVAL)
    return LocalError(path, "cannot sync", errno);
  return {};
}

Result<DirectoryLock> DirectoryLock::Acquire(const std::string& path) {
  FileDescriptor directory = OpenDirectory(path);
  if (!directory.is_open()) return LocalError(path, "cannot open this directory", errno);
  WaitForLock(directory);
  return DirectoryLock(std::move(directory));
}

Status MakeOwnDirectory(const std::string& path) {
  RETURN_IF_ERROR(MakeDirectories(ParentDirectory(path)));
  if (mkdir(path.c_str(), 0700) == 0) return SyncDirectory(ParentDirectory(path));
  if (errno != EEXIST) return LocalError(path, "cannot make this directory", errno);
  constexpr std::string_view kElsewhere = "remove it, or name another directory with TMPDIR";
  const FileDescriptor directory = OpenPath(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!directory.is_open() && (errno == ENOTDIR || errno == ELOOP))
    return Refuse(path, "is a link or a file, and no directory", kElsewhere);
  struct stat found;
  if (!directory.is_open() || fstat(directory.get(), &found) != 0)
    return LocalError(path, "cannot look at this directory", errno);
  if (found.st_uid != geteuid())
    return Refuse(path, StrCat("belongs to another user (", found.st_uid, "; this one is ", geteuid(), ")"),
                  "name another directory with TMPDIR");
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Refuse(path, "can be written to by other users",
                  StrCat("look at what is in it, then: chmod go-w ", path));
  return {};
}

Result<std::uint64_t> FreeBytes(const std::string& path) {
  ASSIGN_OR_RETURN(const Existing existing, NearestExisting(path));
  struct statvfs system;
  if (statvfs(existing.path.c_str(), &system) != 0)
    return LocalError(existing.path, "cannot tell the free space", errno);
  return std::uint64_t{system.f_bavail} * system.f_frsize;
}

Result<bool> SameFileSystem(const std::string& a, const std::string& b) {
  ASSIGN_OR_RETURN(const Existing at_a, NearestExisting(a));
  ASSIGN_OR_RETURN(const Existing at_b, NearestExisting(b));
  return at_a.device == at_b.device;
}

}  // namespace pipeline
