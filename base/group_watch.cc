#include "base/group_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace pipeline {

namespace {

// The watcher is a program of its own, not a fork, because a fork would hold a copy of all our memory. No
// signal to our group and no end of the terminal reaches it.
constexpr const char* kScript =
    "groups=; "
    "while read -r what group; do "
    "case $what in "
    "+) groups=\"$groups $group\" ;; "
    "-) left=; for other in $groups; do [ \"$other\" = \"$group\" ] || left=\"$left $other\"; done; "
    "groups=$left ;; "
    "esac; done; "
    "for group in $groups; do kill -s KILL -- \"-$group\" 2>/dev/null; done";

void CloseFrom(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
#endif
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (rlim_t number = static_cast<rlim_t>(first); number < std::min<rlim_t>(limit.rlim_cur, 1 << 20);
       ++number)
    close(static_cast<int>(number));
}

[[noreturn]] void BecomeShell(int socket, char* const* argv) {
  std::array<char*, 1> environment = {nullptr};
  setsid();
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDWR);
  if (dup2(socket, 0) < 0 || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0) _exit(127);
  CloseFrom(3);
  execve("/bin/sh", argv, environment.data());
  _exit(127);
}

}  // namespace

const GroupWatch& GroupWatch::Get() {
  static const GroupWatch watch;
  return watch;
}

GroupWatch::GroupWatch() {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  FileDescriptor ours(ends[0]), theirs(ends[1]);
  // The descriptors are above stderr, so that they can be moved to 0, 1 and 2 in any order.
  for (FileDescriptor* end : {&ours, &theirs})
    if (end->get() <= 2) *end = FileDescriptor(fcntl(end->get(), F_DUPFD_CLOEXEC, 3));
  if (!ours.is_open() || !theirs.is_open()) return;
  const std::array<const char*, 4> words = {"sh", "-c", kScript, nullptr};
  const pid_t id = fork();
  if (id == 0) BecomeShell(theirs.get(), const_cast<char* const*>(words.data()));
  if (id > 0) socket_ = std::move(ours);
}

void GroupWatch::Tell(char what, pid_t group) const {
  if (!socket_.is_open()) return;
  std::array<char, 16> line = {};
  std::size_t at = line.size();
  line[--at] = '\n';
  for (pid_t left = group; left > 0; left /= 10) line[--at] = static_cast<char>('0' + left % 10);
  line[--at] = ' ';
  line[--at] = what;
  // A watcher that does not answer soon is no reason to wait.
  (void)send(socket_.get(), line.data() + at, line.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace pipeline
