#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/file_descriptor.h"
#include "base/str.h"

namespace pipeline {

Result<std::string> ReadWholeFile(const std::string& path) {
  const FileDescriptor file = OpenPath(path, O_RDONLY);
  if (!file.is_open()) return SystemError(path, errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return SystemError(path, errno);
  std::string bytes(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t filled = ReadFullyAt(file.get(), 0, bytes);
  if (filled < 0) return SystemError(StrCat("reading ", path), errno);
  bytes.resize(static_cast<std::size_t>(filled));
  return bytes;
}

ssize_t ReadFullyAt(int file, std::uint64_t offset, std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got = Uninterrupted([&] {
      return pread(file, out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
    });
    if (got < 0) return got;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(filled);
}

bool WriteFully(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = Uninterrupted([&] { return write(file, bytes.data(), bytes.size()); });
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool WriteFullyAt(int file, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote =
        Uninterrupted([&] { return pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return true;
}

Status WriteAll(int file, std::string_view bytes, const std::string& path) {
  return WriteFully(file, bytes) ? Status() : SystemError(path, errno);
}

namespace {

Status WriteAndRename(const std::string& temporary, const std::string& path, std::string_view bytes,
                      bool durable) {
  const FileDescriptor file = OpenPath(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (!file.is_open()) return SystemError(temporary, errno);
  RETURN_IF_ERROR(WriteAll(file.get(), bytes, temporary));
  if (durable && Uninterrupted([&] { return fsync(file.get()); }) != 0) return SystemError(temporary, errno);
  return std::rename(temporary.c_str(), path.c_str()) == 0 ? Status() : SystemError(path, errno);
}

}  // namespace

Status WriteWholeFile(const std::string& path, std::string_view bytes, Durability durability) {
  const std::string temporary = path + ".part";
  if (Status written = WriteAndRename(temporary, path, bytes, durability == Durability::kDurable);
      !written.ok()) {
    unlink(temporary.c_str());  // the disk may be full
    return written;
  }
  if (durability == Durability::kSeen) return {};
  const std::size_t slash = path.rfind('/');
  return SyncFile(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

Status SyncFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || Uninterrupted([&] { return fsync(file.get()); }) != 0)
    return SystemError(path, errno);
  return {};
}

}  // namespace pipeline
