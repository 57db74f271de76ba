// The file of the run log: reads all of it, appends durably, replaces it by a rename. It does not interpret
// lines.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// The system calls of an append; tests replace them.
struct LogIo {
  std::function<ssize_t(int fd, const char* bytes, std::size_t count)> write;
  std::function<int(int fd)> sync;
};
/// write(2) and fdatasync(2).
LogIo SystemLogIo();

/// A file open for appending. One thread at a time.
class LogFile {
 public:
  /// The file must exist.
  static Result<std::unique_ptr<LogFile>> OpenForAppend(const std::string& path, LogIo io);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  /// The bytes are durable when it returns OK. After a failure the end of the file is unknown, so every
  /// further call returns the same failure.
  Status Append(std::string_view bytes);

 private:
  LogFile(std::string path, int fd, LogIo io);

  std::string path_;
  int fd_;
  LogIo io_;
  Status poison_;
};

/// Replaces the file at `path` with these bytes, by way of `path`.tmp. The file is durable when it returns
/// OK, and is never half written.
Status ReplaceFile(const std::string& path, std::string_view bytes, const LogIo& io);

/// Renames `path` to the first free name of path.old, path.old-2, ... and returns it.
Result<std::string> PutAside(const std::string& path);

}  // namespace pipeline
