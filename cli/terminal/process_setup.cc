#include "cli/terminal/process_setup.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "base/commit_point.h"
#include "base/str.h"

namespace pipeline {

namespace {

std::atomic<int> exit_code_at_the_end = 1;
std::terminate_handler before = nullptr;

constexpr std::string_view kNoMemory =
    "error: out of memory: raise the limit (ulimit -v, memory.max of the cgroup) or set limits.memory lower; "
    "finished work is kept, and the same command goes on from there\n";
constexpr std::string_view kNoThread =
    "error: the system gives no further thread: raise the limit on processes (ulimit -u, pids.max of the "
    "cgroup) or on memory (ulimit -v), or give a smaller -j; finished work is kept, and the same command "
    "goes on from there\n";

constexpr std::string_view kRefused =
    ": the system refuses memory or threads: raise its limits (ulimit -u and -v, pids.max and memory.max "
    "of the cgroup) or give a smaller -j; finished work is kept, and the same command goes on from there\n";

/// Allocates nothing and runs no destructor, because other threads still run.
[[noreturn]] void End(std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (write(STDERR_FILENO, part.data(), part.size()) < 0) break;
  _exit(exit_code_at_the_end);
}

[[noreturn]] void OnTerminate() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      End({kNoMemory});
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::resource_unavailable_try_again) End({kNoThread});
      if (error.code() == std::errc::not_enough_memory) End({kNoMemory});
    } catch (const std::runtime_error& error) {
      // oneTBB throws this if it cannot start a worker thread. The files that wrap libraries catch all
      // others.
      End({"error: ", error.what(), kRefused});
    } catch (const std::exception&) {  // the former handler reports it
    }
  }
  if (before != nullptr) before();
  std::abort();
}

}  // namespace

void PrepareProcess() {
  for (int number = 0; number <= 2; ++number)
    // open() returns the lowest free number, which is this one. A write to it fails, as to a closed
    // descriptor.
    if (fcntl(number, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) < 0) break;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

Status InstallKillSwitch() {
  const char* value = std::getenv("PIPE_KILL_AT");
  if (value == nullptr) return {};
  const std::string_view text = value;
  const std::size_t colon = text.find(':');
  const std::string_view point = text.substr(0, colon);
  std::uint64_t passages = 1;
  if (colon != std::string_view::npos)
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), passages);
  if (std::find(std::begin(kCommitPoints), std::end(kCommitPoints), point) == std::end(kCommitPoints))
    return Status(Code::kInvalidArgument, StrCat("PIPE_KILL_AT: no commit point is called '", point, "'"));
  auto left = std::make_shared<std::atomic<std::uint64_t>>(passages);
  SetCommitPointHook([left, name = std::string(point)](std::string_view passed) {
    if (passed == name && left->fetch_sub(1) == 1) raise(SIGKILL);
  });
  return {};
}

void SayLastWords(int exit_code) {
  exit_code_at_the_end = exit_code;
  before = std::set_terminate(OnTerminate);
}

}  // namespace pipeline
