// An open file of the operating system, closed at the end of its scope.
#pragma once

#include <unistd.h>

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

}  // namespace pipeline
