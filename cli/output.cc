#include "cli/output.h"

#include <unistd.h>

#include <cerrno>

namespace pipeline {

namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

}  // namespace

void Output::Write(std::string_view bytes) {
  if (!open_) return;
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) Flush();
}

Status Output::Finish() {
  Flush();
  return failure_;
}

void Output::Flush() {
  std::string_view left = buffer_;
  while (open_ && !left.empty()) {
    const ssize_t written = write(descriptor_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      open_ = false;
      if (errno != EPIPE) failure_ = SystemError("standard output", errno);
    }
  }
  buffer_.clear();
}

}  // namespace pipeline
