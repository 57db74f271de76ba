#include "storage/local_error.h"

#include <cerrno>

#include "base/str.h"

namespace pipeline {

namespace {

std::string_view WhatToDo(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space there or choose another place, then run again: what is finished stays";
    case EFBIG:
      return "raise the limit on file size (ulimit -f), or use a file system that takes larger files";
    case EROFS: return "choose a place that can be written";
    case EACCES:
    case EPERM: return "check the owner and the permissions";
    case ENOTDIR: return "a part of this path is a file";
    case EMFILE: return "raise the limit on open files (ulimit -n)";
    default: return {};
  }
}

}  // namespace

Status LocalError(std::string_view path, std::string_view what, int error_number) {
  Status status = SystemError(StrCat(path, ": ", what), error_number);
  const std::string_view advice = WhatToDo(error_number);
  if (advice.empty()) return status;
  std::string words = StrCat(status.message(), "; ", advice);
  return std::move(status).Reword(std::move(words));
}

}  // namespace pipeline
