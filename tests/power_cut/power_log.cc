// For LD_PRELOAD: records each change to files and names below POWER_LOG_ROOT in the file POWER_LOG
// (README.md). A recorded call and its record are one step under a lock of the kernel on the log, so that the
// order of records is the order in which the calls took effect, whichever process made them.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace {

template <class Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The state of one process. Its descriptors and ids are touched under the lock of a Step alone.
class Recorder {
 public:
  Recorder() {
    const char* root = getenv("POWER_LOG_ROOT");
    const char* log = getenv("POWER_LOG");
    if (root == nullptr || log == nullptr) return;
    root_ = root;
    log_ = Next<int(const char*, int, ...)>("open")(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    pid_ = getpid();
  }

  bool on() const {
    return log_ >= 0 && pid_ == getpid();
  }  // a child that has not yet become another program is not
  bool IsBelow(std::string_view path) const {
    return path.starts_with(root_) && (path.size() == root_.size() || path[root_.size()] == '/');
  }

  std::mutex mutex;
  std::map<int, uint64_t> ids;  // of open descriptors; one that is absent is not recorded

  void Lock() const { flock(log_, LOCK_EX); }
  void Unlock() const { flock(log_, LOCK_UN); }

  uint64_t NewId() { return (static_cast<uint64_t>(pid_) << 32) | ++opened_; }

  void Put(char operation, uint64_t file, uint64_t number, std::string_view first,
           std::string_view second = {}) {
    std::string record(1, operation);
    const auto put = [&record](const void* from, size_t size) {
      record.append(static_cast<const char*>(from), size);
    };
    put(&file, sizeof file);
    put(&number, sizeof number);
    for (const std::string_view text : {first, second}) {
      const auto size = static_cast<uint32_t>(text.size());
      put(&size, sizeof size);
      record += text;
    }
    const auto write_all = Next<ssize_t(int, const void*, size_t)>("write");
    if (write_all(log_, record.data(), record.size()) != static_cast<ssize_t>(record.size())) abort();
  }

 private:
  std::string root_;
  int log_ = -1;
  pid_t pid_ = 0;
  uint64_t opened_ = 0;
};

/// Made at the first call and never destroyed: calls come until the process is gone.
Recorder& Log() {
  static Recorder* const recorder = new Recorder();
  return *recorder;
}

/// One call and its record.
class Step {
 public:
  Step() : recorder_(Log()), hold_(recorder_.mutex) { recorder_.Lock(); }
  ~Step() {
    const int error = errno;
    recorder_.Unlock();
    errno = error;
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  Recorder* operator->() { return &recorder_; }

 private:
  Recorder& recorder_;
  std::scoped_lock<std::mutex> hold_;
};

std::string PathOfDescriptor(int descriptor) {
  char path[PATH_MAX];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path);
  return size < 0 ? std::string() : std::string(path, static_cast<size_t>(size));
}

/// `path` from the root of the file system, without `.`, `..` and double slashes; a link is followed in the
/// directories above the last part alone, as the calls do that change names.
std::string Absolute(int directory, const char* path) {
  const std::string_view given = path;
  if (given.starts_with("/proc/self/fd/")) return PathOfDescriptor(atoi(path + strlen("/proc/self/fd/")));
  const size_t slash = given.rfind('/');
  std::string above = slash == std::string_view::npos ? "." : std::string(given.substr(0, slash + 1));
  const std::string_view last = slash == std::string_view::npos ? given : given.substr(slash + 1);
  if (!above.starts_with('/') && directory != AT_FDCWD) above = PathOfDescriptor(directory) + '/' + above;
  char real[PATH_MAX];
  if (realpath(above.c_str(), real) == nullptr) return std::string(given);
  return last.empty() || last == "." ? std::string(real) : std::string(real) + '/' + std::string(last);
}

bool IsRecorded(const std::string& path) { return Log().on() && Log().IsBelow(path); }

uint64_t Number(auto value) { return static_cast<uint64_t>(value); }

template <class Call>
int Opened(int directory, const char* path, int flags, Call call) {
  const std::string absolute = Log().on() ? Absolute(directory, path) : std::string();
  const bool changes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  if (absolute.empty() || !changes || !IsRecorded(absolute)) return call();
  Step step;
  const int descriptor = call();
  if (descriptor < 0) return descriptor;
  const uint64_t id = step->NewId();
  step->ids[descriptor] = id;
  step->Put('O', id, Number(flags), absolute);
  return descriptor;
}

bool IsKept(int descriptor) {
  if (!Log().on()) return false;
  const std::scoped_lock lock(Log().mutex);
  return Log().ids.contains(descriptor);
}

/// `offset` < 0: where the descriptor stood before the call, which moved it behind what it wrote.
template <class Call>
ssize_t Written(int descriptor, off_t offset, Call call) {
  if (!IsKept(descriptor)) return call(nullptr);
  Step step;
  std::string bytes;
  const ssize_t size = call(&bytes);
  if (size <= 0) return size;
  bytes.resize(static_cast<size_t>(size));
  if (offset < 0) offset = lseek(descriptor, 0, SEEK_CUR) - size;
  step->Put('W', step->ids[descriptor], Number(offset), {}, bytes);
  return size;
}

template <class Call>
int Synced(int descriptor, Call call) {
  const std::string path = Log().on() ? PathOfDescriptor(descriptor) : std::string();
  if (!IsKept(descriptor) && !IsRecorded(path)) return call();
  Step step;
  const int result = call();
  struct stat status;
  if (result != 0 || fstat(descriptor, &status) != 0) return result;
  const auto id = step->ids.find(descriptor);
  if (S_ISDIR(status.st_mode))
    step->Put('D', 0, 0, path);
  else if (id != step->ids.end())
    step->Put('F', id->second, 0, {});
  else
    step->Put('F', 0, 0, path);
  return result;
}

template <class Call>
int NameChanged(char operation, const std::string& first, const std::string& second, Call call) {
  if (!IsRecorded(first) && !IsRecorded(second)) return call();
  Step step;
  const int result = call();
  if (result == 0) step->Put(operation, 0, 0, first, second);
  return result;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  static const auto real = Next<int(const char*, int, ...)>("open");
  return Opened(AT_FDCWD, path, flags, [&] { return real(path, flags, mode); });
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open(path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  static const auto real = Next<int(int, const char*, int, ...)>("openat");
  return Opened(directory, path, flags, [&] { return real(directory, path, flags, mode); });
}

FILE* fopen(const char* path, const char* mode) {
  static const auto real = Next<FILE*(const char*, const char*)>("fopen");
  const std::string absolute = Log().on() && mode[0] != 'r' ? Absolute(AT_FDCWD, path) : std::string();
  if (absolute.empty() || !IsRecorded(absolute)) return real(path, mode);
  Step step;
  FILE* const file = real(path, mode);
  if (file != nullptr) step->Put('O', step->NewId(), O_WRONLY | O_CREAT, absolute);
  return file;
}

FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

int close(int descriptor) {
  static const auto real = Next<int(int)>("close");
  if (Log().on()) {
    const std::scoped_lock lock(Log().mutex);
    Log().ids.erase(descriptor);
  }
  return real(descriptor);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto real = Next<ssize_t(int, const void*, size_t)>("write");
  return Written(descriptor, -1, [&](std::string* copy) {
    if (copy != nullptr) copy->assign(static_cast<const char*>(bytes), size);
    return real(descriptor, bytes, size);
  });
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto real = Next<ssize_t(int, const iovec*, int)>("writev");
  return Written(descriptor, -1, [&](std::string* copy) {
    for (int at = 0; copy != nullptr && at < count; ++at)
      copy->append(static_cast<const char*>(parts[at].iov_base), parts[at].iov_len);
    return real(descriptor, parts, count);
  });
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static const auto real = Next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return Written(descriptor, offset, [&](std::string* copy) {
    if (copy != nullptr) copy->assign(static_cast<const char*>(bytes), size);
    return real(descriptor, bytes, size, offset);
  });
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  return pwrite(descriptor, bytes, size, offset);
}

ssize_t copy_file_range(int in, off64_t* in_offset, int out, off64_t* out_offset, size_t size,
                        unsigned flags) {
  static const auto real = Next<ssize_t(int, off64_t*, int, off64_t*, size_t, unsigned)>("copy_file_range");
  const off_t from = in_offset != nullptr ? *in_offset : lseek(in, 0, SEEK_CUR);
  return Written(out, out_offset != nullptr ? *out_offset : -1, [&](std::string* copy) {
    const ssize_t done = real(in, in_offset, out, out_offset, size, flags);
    if (copy == nullptr || done <= 0) return done;
    copy->resize(static_cast<size_t>(done));
    if (pread(in, copy->data(), copy->size(), from) != done) abort();
    return done;
  });
}

int ftruncate(int descriptor, off_t length) {
  static const auto real = Next<int(int, off_t)>("ftruncate");
  if (!IsKept(descriptor)) return real(descriptor, length);
  Step step;
  const int result = real(descriptor, length);
  if (result == 0) step->Put('T', step->ids[descriptor], Number(length), {});
  return result;
}

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

int fsync(int descriptor) {
  static const auto real = Next<int(int)>("fsync");
  return Synced(descriptor, [&] { return real(descriptor); });
}

int fdatasync(int descriptor) {
  static const auto real = Next<int(int)>("fdatasync");
  return Synced(descriptor, [&] { return real(descriptor); });
}

int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) {
  static const auto real = Next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return NameChanged('R', Absolute(from_directory, from), Absolute(to_directory, to),
                     [&] { return real(from_directory, from, to_directory, to, flags); });
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  return renameat2(from_directory, from, to_directory, to, 0);
}

int rename(const char* from, const char* to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) {
  static const auto real = Next<int(int, const char*, int, const char*, int)>("linkat");
  return NameChanged('L', Absolute(from_directory, from), Absolute(to_directory, to),
                     [&] { return real(from_directory, from, to_directory, to, flags); });
}

int link(const char* from, const char* to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int directory, const char* path, int flags) {
  static const auto real = Next<int(int, const char*, int)>("unlinkat");
  return NameChanged((flags & AT_REMOVEDIR) != 0 ? 'X' : 'U', Absolute(directory, path), {},
                     [&] { return real(directory, path, flags); });
}

int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int remove(const char* path) {
  struct stat status;
  if (lstat(path, &status) != 0) return -1;
  return S_ISDIR(status.st_mode) ? rmdir(path) : unlink(path);
}

int mkdirat(int directory, const char* path, mode_t mode) {
  static const auto real = Next<int(int, const char*, mode_t)>("mkdirat");
  return NameChanged('M', Absolute(directory, path), {}, [&] { return real(directory, path, mode); });
}

int mkdir(const char* path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

}  // extern "C"
