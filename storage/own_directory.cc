#include "storage/own_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_descriptor.h"
#include "base/str.h"
#include "base/uninterrupted.h"
#include "storage/directory.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

Status Refuse(const std::string& path, std::string_view why, std::string_view remedy) {
  return Status(Code::kPermissionDenied, StrCat(path, ": ", why, ": nothing is put there; ", remedy));
}

}  // namespace

Status MakeOwnDirectory(const std::string& path) {
  RETURN_IF_ERROR(MakeDirectories(ParentDirectory(path)));
  if (mkdir(path.c_str(), 0700) == 0) return SyncDirectory(ParentDirectory(path));
  if (errno != EEXIST) return LocalError(path, "cannot make this directory", errno);
  constexpr std::string_view kElsewhere = "remove it, or name another directory with TMPDIR";
  const FileDescriptor directory(
      Uninterrupted([&] { return open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
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

}  // namespace pipeline
