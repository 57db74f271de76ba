#include "dag/books/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/str.h"
#include "base/uninterrupted.h"

namespace pipeline {

namespace {

std::string BootId() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id;
}

/// The words that an owner wrote. Empty: the text has no such word.
struct Owner {
  std::string pid, boot, since, state;
};

std::string Word(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return std::string(rest.substr(0, rest.find_first_of(" \n")));
}

Owner ReadOwner(int fd) {
  std::array<char, 256> bytes{};
  const ssize_t got = Uninterrupted([&] { return ::pread(fd, bytes.data(), bytes.size(), 0); });
  const std::string_view text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  for (const char byte : text)
    if (byte != '\n' && (byte < ' ' || byte > '~')) return {};  // it cannot be shown
  return {Word(text, "pid="), Word(text, "boot="), Word(text, "since="), Word(text, "state=")};
}

std::string Shown(const Owner& owner) {
  if (owner.pid.empty()) return "its lock file does not say which";
  return StrCat("pid ", owner.pid, ", since ", owner.since);
}

Status WriteText(int fd, std::string_view text) {
  if (Uninterrupted([fd] { return ::ftruncate(fd, 0); }) != 0 ||
      Uninterrupted([&] { return ::pwrite(fd, text.data(), text.size(), 0); }) < 0)
    return SystemError("writing the lock file", errno);
  return {};
}

}  // namespace

WorkLock::WorkLock(int fd, std::string text) : fd_(fd), text_(std::move(text)) {}

WorkLock::~WorkLock() {
  const Status written = WriteText(fd_, StrCat(text_, "ended\n"));
  if (!written.ok()) LogWarning(written.message());
  ::flock(fd_, LOCK_UN);  // a forked child may hold the descriptor open
  ::close(fd_);
}

bool WorkLock::IsHeld(const std::string& work_dir) {
  const std::string path = work_dir + "/lock";
  const int fd = Uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (fd < 0) return false;
  const Owner owner = ReadOwner(fd);
  ::close(fd);
  if (owner.state != "running" || owner.boot != BootId()) return false;
  const long pid = std::strtol(owner.pid.c_str(), nullptr, 10);
  return pid > 0 && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

Result<std::unique_ptr<WorkLock>> WorkLock::Take(const std::string& work_dir, const Clock& clock) {
  const std::string path = work_dir + "/lock";
  const int fd = Uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  if (fd < 0) return SystemError(path, errno);
  if (Uninterrupted([fd] { return ::flock(fd, LOCK_EX | LOCK_NB); }) != 0) {
    const int error = errno;
    const Owner owner = ReadOwner(fd);
    ::close(fd);
    if (error != EWOULDBLOCK) return SystemError(StrCat("locking ", path), error);
    return Status(Code::kFailedPrecondition, StrCat("another run (", Shown(owner), ") works in ", work_dir,
                                                    "; wait for it or use another --work"));
  }
  const std::string boot = BootId();
  const Owner last = ReadOwner(fd);
  if (last.state == "running")
    LogInfo(StrCat(work_dir, ": the last run (", Shown(last), ") ",
                   last.boot == boot ? "was killed" : "ended with its machine",
                   "; this run continues from its finished work"));
  std::string text =
      StrCat("pid=", ::getpid(), " boot=", boot, " since=", Iso8601(clock.UnixMillis()), " state=");
  std::unique_ptr<WorkLock> lock(new WorkLock(fd, std::move(text)));
  RETURN_IF_ERROR(WriteText(fd, StrCat(lock->text_, "running\n")));
  return lock;
}

}  // namespace pipeline
