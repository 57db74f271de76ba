// Preloaded into a program, makes a directory one of a network file system as seen from another machine:
//
//   OTHER_HOST_BOOT   the boot id of that machine
//   OTHER_HOST_ROOT   the directory; below it listings leave out entries younger than 3 s, and some renames
//                     and links that succeeded report a failure
//   OTHER_HOST_SEED   selects these renames and links
//
// Locks are granted to everybody, everywhere.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr std::time_t kYoungest = 3;  // s
constexpr std::uint64_t kOneOf = 6;

template <class Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool IsBelow(const char* path) {
  const char* root = std::getenv("OTHER_HOST_ROOT");
  return root != nullptr && path != nullptr && std::strncmp(path, root, std::strlen(root)) == 0;
}

/// The answer to a call that ended with `done`: lost, now and then.
int Answer(int done, const char* path) {
  static std::atomic<std::uint64_t> calls{0};
  if (done != 0 || !IsBelow(path)) return done;
  const char* text = std::getenv("OTHER_HOST_SEED");
  std::uint64_t mixed =
      (text != nullptr ? std::strtoull(text, nullptr, 10) : 0) * 1'000'003 + calls.fetch_add(1);
  mixed = (mixed ^ (mixed >> 15)) * 0x9e3779b97f4a7c15u;
  mixed ^= mixed >> 29;
  if (mixed % kOneOf != 0) return done;
  errno = (mixed & 64) != 0 ? EIO : ETIMEDOUT;
  return -1;
}

bool IsHidden(DIR* directory, const char* name) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd(directory));
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  struct stat found;
  if (!IsBelow(path) || fstatat(dirfd(directory), name, &found, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return !S_ISDIR(found.st_mode) && std::time(nullptr) - found.st_ctim.tv_sec < kYoungest;
}

template <class Entry>
Entry* ReadOld(DIR* directory, const char* name) {
  const auto next = Next<Entry* (*)(DIR*)>(name);
  for (;;) {
    Entry* entry = next(directory);
    if (entry == nullptr || !IsHidden(directory, entry->d_name)) return entry;
  }
}

int OpenOf(const char* name, const char* path, int flags, mode_t mode) {
  const char* boot = std::getenv("OTHER_HOST_BOOT");
  if (boot == nullptr || std::strcmp(path, "/proc/sys/kernel/random/boot_id") != 0)
    return Next<int (*)(const char*, int, ...)>(name)(path, flags, mode);
  const int made = memfd_create("boot_id", MFD_CLOEXEC);
  if (made < 0 || write(made, boot, std::strlen(boot)) < 0 || lseek(made, 0, SEEK_SET) != 0) return -1;
  return made;
}

mode_t ModeOf(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

}  // namespace

extern "C" {

int flock(int, int) noexcept { return 0; }

int rename(const char* from, const char* to) noexcept {
  return Answer(Next<int (*)(const char*, const char*)>("rename")(from, to), to);
}

int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept {
  const auto next = Next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return Answer(next(from_at, from, to_at, to, flags), to);
}

int link(const char* from, const char* to) noexcept {
  return Answer(Next<int (*)(const char*, const char*)>("link")(from, to), to);
}

struct dirent* readdir(DIR* directory) {
  return ReadOld<struct dirent>(directory, "readdir");
}
struct dirent64* readdir64(DIR* directory) {
  return ReadOld<struct dirent64>(directory, "readdir64");
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = ModeOf(flags, more);
  va_end(more);
  return OpenOf("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = ModeOf(flags, more);
  va_end(more);
  return OpenOf("open64", path, flags, mode);
}
}
