#include "cli/terminal/output.h"

#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "base/terminal_text.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

}  // namespace

Output::Output(int descriptor) : descriptor_(descriptor), is_terminal_(isatty(descriptor) == 1) {}

void Output::Write(std::string_view bytes) {
  if (!open_) return;
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) Flush(false);
}

Status Output::Finish() {
  Flush(true);
  return failure_;
}

int FinishOutput(Output& out, int exit_code) {
  const Status written = out.Finish();
  if (written.ok()) return exit_code;
  LogError(written.message());
  return kExitFailed;
}

/// `all`: no bytes follow. Otherwise the first byte of a control character may wait for its second byte.
void Output::Flush(bool all) {
  const bool waits = !all && buffer_.ends_with('\xC2');
  if (waits) buffer_.pop_back();
  const std::string shown = is_terminal_ ? TerminalText(buffer_) : std::string();
  std::string_view left = is_terminal_ ? shown : buffer_;
  while (open_ && !left.empty()) {
    const ssize_t written = write(descriptor_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      open_ = false;
      if (errno != EPIPE) failure_ = SystemError("standard output", errno);
    }
  }
  buffer_.assign(waits ? "\xC2" : "");
}

}  // namespace pipeline
