// The file under the run log: whole reads, durable appends, replacement by rename. Knows no lines.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// The system calls that an append is made of; tests replace them.
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

  /// Durable when it returns OK. After a failure nobody knows what the file ends with, so that every
  /// further call gives the same failure.
  Status Append(std::string_view bytes);

 private:
  LogFile(std::string path, int fd, LogIo io);

  std::string path_;
  int fd_;
  LogIo io_;
  Status poison_;
};

/// The whole file; kNotFound where there is none.
Result<std::string> ReadWholeFile(const std::string& path);

/// Puts a file with these bytes in the place of what is at `path`, by way of `path`.tmp: durable when it
/// returns OK, and never half there.
Status ReplaceFile(const std::string& path, std::string_view bytes, const LogIo& io);

/// Renames `path` to the first free one of path.old, path.old-2, ... and returns the new name.
Result<std::string> PutAside(const std::string& path);

}  // namespace pipeline
