#include "dag/location/location_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/file_lock.h"
#include "base/str.h"
#include "dag/location/lease.h"
#include "storage/directory.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

FileDescriptor OpenLock(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
  // The lock file of another user can be opened for reading, and this is enough to lock it.
  if (!file.is_open() && errno == EACCES)
    file = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  return file;
}

/// Returns the first line of the lock file, or "another run" if it cannot be shown.
std::string HolderIn(const FileDescriptor& file) {
  std::array<char, 256> bytes{};
  const ssize_t got = pread(file.get(), bytes.data(), bytes.size(), 0);
  std::string_view text(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  text = text.substr(0, text.find('\n'));
  const bool shown = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return text.empty() || !shown ? "another run" : std::string(text);
}

bool IsAt(const FileDescriptor& file, const std::string& path) {
  struct stat open_file, named;
  return fstat(file.get(), &open_file) == 0 && stat(path.c_str(), &named) == 0 &&
         open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

}  // namespace

Result<std::unique_ptr<LocationLock>> LocationLock::Take(const std::string& directory, std::string_view who) {
  const std::string parent = StrCat(directory, "/.pipe");
  const std::string path = StrCat(parent, "/lock");
  for (int turn = 0; turn < 100; ++turn) {
    RETURN_IF_ERROR(MakeDirectories(parent));
    FileDescriptor file = OpenLock(path);
    if (!file.is_open() && errno == ENOENT) continue;  // somebody removed the directory
    if (!file.is_open()) return LocalError(path, "cannot open", errno);
    const FileLock lock = TryLock(file, LockKind::kAlone);
    if (lock == FileLock::kUnsupported) return nullptr;
    if (lock == FileLock::kTaken) {
      const std::string holder = HolderIn(file);
      if (holder == who)
        return Status(
            Code::kFailedPrecondition,
            StrCat(directory, ": two stages publish to this directory; give each an `out` of its own"));
      return HeldByAnother(directory, holder);
    }
    if (!IsAt(file, path)) continue;  // it was removed, and others lock the new one
    // The text is for people alone, so a failure to write it does not stop the run.
    if (ftruncate(file.get(), 0) == 0 && pwrite(file.get(), who.data(), who.size(), 0) < 0) errno = 0;
    return std::unique_ptr<LocationLock>(new LocationLock(std::move(file)));
  }
  return Status(Code::kUnavailable, StrCat(path, ": others keep removing it"));
}

LocationLock::~LocationLock() { Unlock(file_); }

}  // namespace pipeline
