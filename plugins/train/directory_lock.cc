#include "plugins/train/directory_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/file_descriptor.h"
#include "base/file_lock.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};

Result<FileDescriptor> LockFile(const std::string& directory, const char* name, LockKind kind) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return SystemError(StrCat("making the directory ", directory), error.value());
  const std::string lock = StrCat(directory, "/", name);
  FileDescriptor file(Uninterrupted([&] { return open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644); }));
  if (!file.is_open()) return SystemError(lock, errno);
  const FileLock outcome = TryLock(file, kind);
  if (outcome == FileLock::kHeld) return file;
  if (outcome == FileLock::kUnsupported) return SystemError(lock, errno);
  return Status(Code::kUnavailable, StrCat(directory, ": another run has it; wait for it or stop it"));
}

Result<FileDescriptor> WaitForFile(const std::string& directory, const char* name,
                                   const std::function<bool()>& stopped) {
  while (true) {
    Result<FileDescriptor> lock = LockFile(directory, name, LockKind::kAlone);
    if (lock.ok() || lock.status().code() != Code::kUnavailable) return lock;
    if (stopped()) return Status(Code::kCancelled, "stopped");
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

constexpr const char* kUsed = "used";

}  // namespace

Result<FileDescriptor> LockDirectory(const std::string& directory) {
  return LockFile(directory, kDirectoryLock, LockKind::kAlone);
}

Result<FileDescriptor> WaitForDirectory(const std::string& directory, const std::function<bool()>& stopped) {
  return WaitForFile(directory, kDirectoryLock, stopped);
}

Result<FileDescriptor> UseDirectory(const std::string& directory) {
  return LockFile(directory, kUsed, LockKind::kShared);
}

Result<FileDescriptor> WaitForUsers(const std::string& directory, const std::function<bool()>& stopped) {
  return WaitForFile(directory, kUsed, stopped);
}

}  // namespace pipeline
