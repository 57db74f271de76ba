#include "dag/books/work_dir.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "base/file_lock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/str.h"

namespace pipeline {

WorkDir::WorkDir(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
}

Status WorkDir::Create() const {
  for (const std::string& directory : {path_, artifacts(), spool(), StrCat(path_, "/quarantine"), runs()}) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return SystemError(StrCat("making the work directory ", directory), error.value());
  }
  return {};
}

std::string WorkDir::log() const { return path_ + "/run.log"; }
std::string WorkDir::lock() const { return path_ + "/lock"; }
std::string WorkDir::artifacts() const { return path_ + "/artifacts"; }
std::string WorkDir::spool() const { return path_ + "/spool"; }
std::string WorkDir::sources() const { return path_ + "/sources"; }
std::string WorkDir::kept() const { return path_ + "/kept"; }
std::string WorkDir::cache() const { return path_ + "/cache"; }
std::string WorkDir::hosts() const { return path_ + "/hosts"; }
std::string WorkDir::host(int number) const { return StrCat(hosts(), '/', number); }
std::string WorkDir::runs() const { return path_ + "/runs"; }
std::string WorkDir::run(std::string_view id) const { return StrCat(runs(), '/', id); }

std::string WorkDir::artifact(std::string_view stage, const Digest& recipe) const {
  return StrCat(artifacts(), '/', ArtifactName(stage, recipe));
}

std::string WorkDir::ArtifactName(std::string_view stage, const Digest& recipe) {
  return StrCat(stage, '-', recipe.ToHex().substr(0, 16));
}

namespace {

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

WorkLock::WorkLock(FileDescriptor file, std::string text) : file_(std::move(file)), text_(std::move(text)) {}

WorkLock::~WorkLock() {
  const Status written = WriteText(file_.get(), StrCat(text_, "ended\n"));
  if (!written.ok()) LogWarning(written.message());
  Unlock(file_);
}

bool WorkLock::IsHeld(const std::string& work_dir) {
  const std::string path = work_dir + "/lock";
  const FileDescriptor file(Uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!file.is_open()) return false;
  const Owner owner = ReadOwner(file.get());
  if (owner.state != "running" || owner.boot != BootId()) return false;
  const long pid = std::strtol(owner.pid.c_str(), nullptr, 10);
  return pid > 0 && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

Result<std::unique_ptr<WorkLock>> WorkLock::Take(const std::string& work_dir, const Clock& clock) {
  const std::string path = work_dir + "/lock";
  FileDescriptor file(
      Uninterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); }));
  if (!file.is_open()) return SystemError(path, errno);
  if (const FileLock lock = TryLock(file, LockKind::kAlone); lock != FileLock::kHeld) {
    if (lock == FileLock::kUnsupported) return SystemError(StrCat("locking ", path), errno);
    const Owner owner = ReadOwner(file.get());
    return Status(Code::kFailedPrecondition, StrCat("another run (", Shown(owner), ") works in ", work_dir,
                                                    "; wait for it or use another --work"));
  }
  const Owner last = ReadOwner(file.get());
  if (last.state == "running")
    LogInfo(StrCat(work_dir, ": the last run (", Shown(last), ") ",
                   last.boot == BootId() ? "was killed" : "ended with its machine",
                   "; this run continues from its finished work"));
  std::string text =
      StrCat("pid=", ::getpid(), " boot=", BootId(), " since=", Iso8601(clock.UnixMillis()), " state=");
  std::unique_ptr<WorkLock> lock(new WorkLock(std::move(file), std::move(text)));
  RETURN_IF_ERROR(WriteText(lock->file_.get(), StrCat(lock->text_, "running\n")));
  return lock;
}

}  // namespace pipeline
