#include "storage/directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "base/file_lock.h"
#include "base/uninterrupted.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

FileDescriptor OpenDirectory(const std::string& path) {
  return FileDescriptor(
      Uninterrupted([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
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

}  // namespace pipeline
