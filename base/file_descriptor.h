// An open file of the operating system, closed at the end of its scope, and system calls that a signal may
// interrupt before they do anything, as on network file systems.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace pipeline {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes ownership of `number`; negative, as from open(): none.
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int get() const { return number_; }

 private:
  int number_ = -1;
};

/// Returns the result of `call`, which is repeated while it fails with EINTR. `errno` is from the last
/// call.
template <class Call>
auto Uninterrupted(const Call& call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

/// Opens `path` with O_CLOEXEC. Not open: a failure, which `errno` has.
inline FileDescriptor OpenPath(const std::string& path, int flags, mode_t mode = 0) {
  return FileDescriptor(Uninterrupted([&] { return open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

}  // namespace pipeline
