#include "cli/terminal/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "base/terminal_text.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

/// Returns whether a pipe or a socket has lost its reader, also long after the write that failed.
bool ReaderIsGone() {
  pollfd output = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

}  // namespace

int PrintText(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitDone;
}

void PrintLine(std::string_view line) { std::printf("%s\n", TerminalText(line).c_str()); }

int FinishStandardOutput(int exit_code) {
  errno = 0;
  const bool failed_before = std::ferror(stdout) != 0;
  const bool failed = std::fflush(stdout) != 0 || failed_before;
  if (!failed || errno == EPIPE || ReaderIsGone()) return exit_code;
  const Status why = errno != 0 ? SystemError("standard output", errno)
                                : Status(Code::kResourceExhausted, "standard output: could not be written");
  LogError(why.message());
  return exit_code == kExitDone ? static_cast<int>(kExitFailed) : exit_code;
}

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
