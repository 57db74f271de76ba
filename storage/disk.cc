#include "storage/disk.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "storage/directory.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

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
