#include "cli/terminal/standard_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "base/status.h"
#include "base/terminal_text.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

void PrepareProcess() {
  for (int number = 0; number <= 2; ++number)
    // open() returns the lowest free number, which is this one. A write to it fails, as to a closed
    // descriptor.
    if (fcntl(number, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) < 0) break;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

namespace {

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

}  // namespace pipeline
