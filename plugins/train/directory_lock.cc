#include "plugins/train/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/str.h"
#include "base/uninterrupted.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};

Result<FileDescriptor> LockFile(const std::string& directory, const char* name, int how) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return SystemError(StrCat("making the directory ", directory), error.value());
  const std::string lock = StrCat(directory, "/", name);
  FileDescriptor file(Uninterrupted([&] { return open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644); }));
  if (!file.is_open()) return SystemError(lock, errno);
  if (Uninterrupted([&] { return flock(file.get(), how | LOCK_NB); }) == 0) return file;
  if (errno != EWOULDBLOCK) return SystemError(lock, errno);
  return Status(Code::kUnavailable, StrCat(directory, ": another run has it; wait for it or stop it"));
}

Result<FileDescriptor> WaitForFile(const std::string& directory, const char* name,
                                   const std::function<bool()>& stopped) {
  while (true) {
    Result<FileDescriptor> lock = LockFile(directory, name, LOCK_EX);
    if (lock.ok() || lock.status().code() != Code::kUnavailable) return lock;
    if (stopped()) return Status(Code::kCancelled, "stopped");
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

constexpr const char* kLock = "lock";
constexpr const char* kUsed = "used";

}  // namespace

Result<FileDescriptor> LockDirectory(const std::string& directory) {
  return LockFile(directory, kLock, LOCK_EX);
}

Result<FileDescriptor> WaitForDirectory(const std::string& directory, const std::function<bool()>& stopped) {
  return WaitForFile(directory, kLock, stopped);
}

Result<FileDescriptor> UseDirectory(const std::string& directory) {
  return LockFile(directory, kUsed, LOCK_SH);
}

Result<FileDescriptor> WaitForUsers(const std::string& directory, const std::function<bool()>& stopped) {
  return WaitForFile(directory, kUsed, stopped);
}

}  // namespace pipeline
