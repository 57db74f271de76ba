#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/file_descriptor.h"
#include "base/group_watch.h"
#include "base/mutex.h"
#include "base/process_use.h"
#include "base/wait.h"

namespace pipeline {

namespace {

constexpr int kPollMs = 100;  // how late a stop token may be seen
// After a child has ended: its other processes may be silent for this long, and the kernel may take this long
// to end them.
constexpr int kSilentPolls = 10;
constexpr int kEndingPolls = 5;

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

/// Both ends are above stderr, so that the child can move them to 0, 1 and 2 in any order.
Result<Pipe> MakePipe() {
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("making a pipe", errno);
  Pipe made{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  for (FileDescriptor* end : {&made.read, &made.write})
    if (end->get() <= 2) *end = FileDescriptor(fcntl(end->get(), F_DUPFD_CLOEXEC, 3));
  if (!made.read.is_open() || !made.write.is_open()) return SystemError("making a pipe", errno);
  return made;
}

/// The strings as execve wants them; they stay the property of `strings`.
std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// The data that the child needs. It is made before the fork, because only functions that are safe in a
/// signal handler may run afterwards.
struct Launch {
  char* const* argv;
  char* const* environment;
  const char* directory;  // null: our directory
  int input, output, error;
  int failed;  // receives errno if exec fails
  pid_t parent;
  rlim_t descriptors;
  const int* inherited;
  std::size_t inherited_count;
  const GroupWatch* watch;
};

/// Closes each descriptor above stderr at exec. If exec fails, they stay open for the report.
void CloseOthersAtExec(const Launch& launch) {
#ifdef SYS_close_range
  constexpr unsigned kCloexec = 1U << 2;  // CLOSE_RANGE_CLOEXEC, Linux 5.11
  if (syscall(SYS_close_range, 3U, ~0U, kCloexec) == 0) return;
#endif
  for (rlim_t number = 3; number < launch.descriptors; ++number)
    fcntl(static_cast<int>(number), F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void BecomeProgram(const Launch& launch) {
  const auto give_up = [&launch] {
    const int why = errno;
    if (write(launch.failed, &why, sizeof why) < 0) _exit(126);
    _exit(127);
  };
  setpgid(0, 0);
  launch.watch->Add(getpid());
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up();
  if (getppid() != launch.parent) _exit(127);  // the parent died before this request to the kernel
  // We ignore SIGHUP if our caller did (nohup), and the child does the same.
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  for (int number = 1; number < NSIG; ++number)
    if (number != SIGHUP || hangup.sa_handler != SIG_IGN) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(launch.input, 0) < 0 || dup2(launch.output, 1) < 0 || dup2(launch.error, 2) < 0) give_up();
  CloseOthersAtExec(launch);
  for (std::size_t at = 0; at < launch.inherited_count; ++at)
    if (fcntl(launch.inherited[at], F_SETFD, 0) != 0) give_up();
  if (launch.directory != nullptr && chdir(launch.directory) != 0) give_up();
  execvpe(launch.argv[0], launch.argv, launch.environment);
  give_up();
  _exit(127);
}

void SetNonBlocking(const FileDescriptor& file) { fcntl(file.get(), F_SETFL, O_NONBLOCK); }

/// Blocks SIGPIPE on this thread while it writes to a pipe that may have no reader.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    constexpr timespec kNow = {};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &kNow);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

/// Returns whether `file` can be read or written, after kPollMs at most; kCancelled after `stop`.
Result<bool> LookAt(int file, short events, const std::stop_token& stop) {
  if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
  pollfd wanted = {file, events, 0};
  const int ready = poll(&wanted, 1, kPollMs);
  if (ready < 0 && errno != EINTR) return SystemError("waiting for a child process", errno);
  return ready > 0;
}

/// Waits until `file` can be read or written; kCancelled after `stop`.
Status WaitFor(int file, short events, const std::stop_token& stop) {
  while (true) {
    ASSIGN_OR_RETURN(const bool ready, LookAt(file, events, stop));
    if (ready) return {};
  }
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

std::string ChildExit::Describe() const {
  if (signal == 0) return "ended with exit code " + std::to_string(code);
  const char* name = strsignal(signal);
  return "was ended by signal " + std::to_string(signal) + " (" + (name != nullptr ? name : "unknown") + ")";
}

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ChildOptions& options) {
  if (options.argv.empty()) return Status(Code::kInvalidArgument, "a command of no words cannot be run");
  ASSIGN_OR_RETURN(Pipe input, MakePipe());
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSIGN_OR_RETURN(Pipe error, MakePipe());
  ASSIGN_OR_RETURN(Pipe failed, MakePipe());
  ASSIGN_OR_RETURN(Pipe wake, MakePipe());
  SetNonBlocking(input.write);
  SetNonBlocking(output.read);
  SetNonBlocking(error.read);

  const std::vector<char*> argv = Pointers(options.argv);
  std::vector<char*> environment;
  if (options.environment) environment = Pointers(*options.environment);
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const Launch launch = {
      .argv = argv.data(),
      .environment = options.environment ? environment.data() : environ,
      .directory = options.directory.empty() ? nullptr : options.directory.c_str(),
      .input = input.read.get(),
      .output = output.write.get(),
      .error = options.joined ? output.write.get() : error.write.get(),
      .failed = failed.write.get(),
      .parent = getpid(),
      .descriptors = std::min<rlim_t>(limit.rlim_cur, 1 << 20),
      .inherited = options.inherited.data(),
      .inherited_count = options.inherited.size(),
      .watch = &GroupWatch::Get(),
  };
  const pid_t id = fork();
  if (id < 0) return SystemError("starting " + options.argv[0], errno);
  if (id == 0) BecomeProgram(launch);
  setpgid(id, id);  // parent and child both set it, so that a signal finds the group

  failed.write = FileDescriptor();
  int why = 0;
  const ssize_t got = Uninterrupted([&] { return read(failed.read.get(), &why, sizeof why); });
  if (got != 0) {
    GroupWatch::Get().Remove(id);
    Uninterrupted([id] { return waitpid(id, nullptr, 0); });
    const std::string where = options.directory.empty() ? "" : " in " + options.directory;
    return SystemError("running " + options.argv[0] + where, got == sizeof why ? why : EIO);
  }
  ChildLedger::Get().Began(id, ChildOwner::Current());
  return std::unique_ptr<ChildProcess>(new ChildProcess(id, std::move(input.write), std::move(output.read),
                                                        std::move(error.read), std::move(wake.write),
                                                        options.stderr_bytes, std::move(wake.read)));
}

ChildProcess::ChildProcess(pid_t id, FileDescriptor input, FileDescriptor output, FileDescriptor error,
                           FileDescriptor wake, std::size_t stderr_bytes, FileDescriptor woken)
    : input_(std::move(input)),
      output_(std::move(output)),
      wake_(std::move(wake)),
      id_(id),
      stderr_bytes_(std::max<std::size_t>(stderr_bytes, 1)),
      drain_([this, from = std::move(error), until = std::move(woken)] { Drain(from, until); }) {}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  if (!reaped_) (void)Reap();
}

Status ChildProcess::Write(std::string_view bytes, const std::stop_token& stop) {
  const WithoutSigpipe guard;
  while (!bytes.empty()) {
    const ssize_t wrote = write(input_.get(), bytes.data(), bytes.size());
    if (wrote > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
      if (stop.stop_requested()) return {Code::kCancelled, "stopped"};
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(WaitFor(input_.get(), POLLOUT, stop));
    } else if (errno == EPIPE) {
      return {Code::kUnavailable, "the child process reads no more"};
    } else if (errno != EINTR) {
      return SystemError("writing to a child process", errno);
    }
  }
  return {};
}

void ChildProcess::CloseInput() { input_ = FileDescriptor(); }

Result<std::size_t> ChildProcess::Read(std::span<char> buffer, const std::stop_token& stop) {
  for (int silent = 0;;) {  // polls since the child ended
    ASSIGN_OR_RETURN(const bool ready, LookAt(output_.get(), POLLIN, stop));
    if (ready) {
      const ssize_t got = read(output_.get(), buffer.data(), buffer.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EAGAIN && errno != EINTR) return SystemError("reading from a child process", errno);
    } else if (HasEnded()) {
      // A process that the child started holds the other end.
      if (++silent == kSilentPolls) Signal(SIGKILL);
      if (silent == kSilentPolls + kEndingPolls) return std::size_t{0};
    }
  }
}

void ChildProcess::Signal(int number) {
  const Lock lock(mutex_);
  if (!reaped_) kill(-id_, number);
}

bool ChildProcess::HasEnded() const {
  siginfo_t info = {};
  // WNOWAIT: the child stays a zombie, so that the kernel gives the number of the group to no other process.
  return waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == id_;
}

Result<ChildExit> ChildProcess::Wait(const std::stop_token& stop, std::chrono::milliseconds grace) {
  CloseInput();
  std::chrono::milliseconds nap(1);
  while (!HasEnded() && !stop.stop_requested()) {
    WaitFor(nap, stop);
    nap = std::min(nap * 2, std::chrono::milliseconds(20));
  }
  const bool stopped = !HasEnded();
  if (stopped) {
    Signal(SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + grace;
    while (!HasEnded() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Signal(SIGKILL);  // ends grandchildren, and a child that ignored SIGTERM
  ASSIGN_OR_RETURN(const ChildExit exit, Reap());
  if (stopped) return Status(Code::kCancelled, "stopped");
  return exit;
}

Result<ChildExit> ChildProcess::Reap() {
  int how = 0;
  pid_t got = 0;
  rusage usage{};
  ProcessBytes bytes;
  {
    // The child was killed or has ended: this does not block Signal for long.
    const Lock lock(mutex_);
    GroupWatch::Get().Remove(id_);
    siginfo_t ended{};
    // The kernel reports the child's I/O only until it was waited for.
    Uninterrupted([&] { return waitid(P_PID, static_cast<id_t>(id_), &ended, WEXITED | WNOWAIT); });
    bytes = BytesOfProcess(id_);
    got = Uninterrupted([&] { return wait4(id_, &how, 0, &usage); });
    reaped_ = true;
  }
  const ProcessUse use = {Seconds(usage.ru_utime) + Seconds(usage.ru_stime), bytes.read, bytes.written};
  ChildLedger::Get().Ended(id_, use);
  wake_ = FileDescriptor();
  if (drain_.joinable()) drain_.join();
  if (got != id_) return SystemError("waiting for a child process", errno);
  if (WIFSIGNALED(how)) return ChildExit{.code = 0, .signal = WTERMSIG(how), .use = use};
  return ChildExit{.code = WEXITSTATUS(how), .signal = 0, .use = use};
}

void ChildProcess::Drain(const FileDescriptor& from, const FileDescriptor& until) {
  std::array<char, 4096> buffer = {};
  std::size_t late = 0;
  std::array<pollfd, 2> ready = {pollfd{from.get(), POLLIN, 0}, pollfd{until.get(), POLLIN, 0}};
  while (true) {
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
    // The last words matter, and they fit in a pipe. A grandchild that left the group may write for ever.
    if (ready[1].revents != 0 && (late += buffer.size()) > (64 << 10)) return;
    const ssize_t got = read(from.get(), buffer.data(), buffer.size());
    if (got > 0) {
      const Lock lock(mutex_);
      stderr_.append(buffer.data(), static_cast<std::size_t>(got));
      if (stderr_.size() > 2 * stderr_bytes_) {
        stderr_.erase(0, stderr_.size() - stderr_bytes_);
        stderr_cut_ = true;
      }
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR) || ready[1].revents != 0) {
      return;
    }
  }
}

std::string ChildProcess::StderrTail() const {
  const Lock lock(mutex_);
  std::string_view tail = stderr_;
  bool cut = stderr_cut_;
  if (tail.size() > stderr_bytes_) tail.remove_prefix(tail.size() - stderr_bytes_), cut = true;
  if (cut) tail.remove_prefix(std::min(tail.size(), tail.find('\n') + 1));  // npos + 1 is 0
  while (!tail.empty() && tail.back() == '\n') tail.remove_suffix(1);
  return std::string(tail);
}

}  // namespace pipeline
