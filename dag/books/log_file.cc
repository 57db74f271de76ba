#include "dag/books/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/file_descriptor.h"
#include "base/str.h"
#include "base/whole_file.h"

namespace pipeline {

namespace {

Status WriteAll(const std::string& path, int fd, std::string_view bytes, const LogIo& io) {
  while (!bytes.empty()) {
    const ssize_t written = io.write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(StrCat("writing ", path), errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (io.sync(fd) != 0) return SystemError(StrCat("making ", path, " durable"), errno);
  return {};
}

/// A rename is durable only once its directory is.
Status SyncDirectoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return SyncFile(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

}  // namespace

LogIo SystemLogIo() {
  return {[](int fd, const char* bytes, std::size_t count) { return ::write(fd, bytes, count); },
          [](int fd) { return Uninterrupted([fd] { return ::fdatasync(fd); }); }};
}

LogFile::LogFile(std::string path, int fd, LogIo io) : path_(std::move(path)), fd_(fd), io_(std::move(io)) {}

LogFile::~LogFile() { ::close(fd_); }

Result<std::unique_ptr<LogFile>> LogFile::OpenForAppend(const std::string& path, LogIo io) {
  const int fd = Uninterrupted([&] { return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC); });
  if (fd < 0) return SystemError(path, errno);
  return std::unique_ptr<LogFile>(new LogFile(path, fd, std::move(io)));
}

Status LogFile::Append(std::string_view bytes) {
  if (poison_.ok()) poison_ = WriteAll(path_, fd_, bytes, io_);
  return poison_;
}

Status ReplaceFile(const std::string& path, std::string_view bytes, const LogIo& io) {
  const std::string temporary = path + ".tmp";
  {
    const FileDescriptor file(Uninterrupted(
        [&] { return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); }));
    if (!file.is_open()) return SystemError(temporary, errno);
    RETURN_IF_ERROR(WriteAll(temporary, file.get(), bytes, io));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return SystemError(StrCat("renaming ", temporary), errno);
  return SyncDirectoryOf(path);
}

Result<std::string> PutAside(const std::string& path) {
  for (int number = 1;; ++number) {
    std::string aside = number == 1 ? path + ".old" : StrCat(path, ".old-", number);
    if (::access(aside.c_str(), F_OK) == 0) continue;
    if (::rename(path.c_str(), aside.c_str()) != 0) return SystemError(StrCat("renaming ", path), errno);
    RETURN_IF_ERROR(SyncDirectoryOf(path));
    return aside;
  }
}

}  // namespace pipeline
