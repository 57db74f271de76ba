#include "cli/terminal/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "base/log.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

namespace {

using Time = std::chrono::steady_clock;

/// The time in which two signals of one kind are one. Schedulers signal every process of a job, and the
/// script that started this one passes its own SIGTERM on. `timeout` signals this process and then its group.
std::chrono::milliseconds OneSignal(int signal) {
  return std::chrono::milliseconds(signal == SIGTERM ? 1'000 : 500);
}

/// As sigwait, until `end` at the latest. 0: no signal came.
int WaitForSignal(const sigset_t& set, const std::optional<Time::time_point>& end) {
  int signal = 0;
  if (!end) return sigwait(&set, &signal) == 0 ? signal : 0;
  const auto left = std::max<std::chrono::nanoseconds>(*end - Time::now(), std::chrono::nanoseconds(0));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
  signal = sigtimedwait(&set, nullptr, &time);
  return signal > 0 ? signal : 0;
}

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGQUIT}) {
    // The kernel would keep an ignored signal that is blocked, and sigwait would get it.
    struct sigaction now = {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  sigaddset(&set, SIGRTMIN);  // only the destructor sends it, to end the loop
  return set;
}

}  // namespace

SignalWatch::SignalWatch(std::chrono::milliseconds most_ending) : most_ending_(most_ending) {
  const sigset_t set = Watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // inherited by every thread that is made later
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write, not the end of the process
  thread_ = std::thread([this] { Loop(); });
}

SignalWatch::~SignalWatch() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), SIGRTMIN);
  thread_.join();
}

void SignalWatch::Loop() {
  const sigset_t set = Watched();
  Time::time_point first;
  std::optional<Time::time_point> end;  // of the program; absent: work is finished first, or no signal came
  while (true) {
    int signal = WaitForSignal(set, end);
    if (signal == 0) {
      if (!end || Time::now() < *end) continue;
      LogInfo("ended while it waited; what was finished before is kept");
      _exit(exit_code_);
    }
    if (signal == SIGRTMIN) {
      if (ending_) return;
      continue;
    }
    if (signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGQUIT) signal = SIGTERM;
    const int code = signal == SIGTERM ? kExitTerminate : signal == SIGHUP ? kExitHangup : kExitInterrupt;
    if (exit_code_ == code && Time::now() - first < OneSignal(signal)) continue;
    // Nothing unfinished counts, so an exit at once is safe; only work is lost.
    if (exit_code_.exchange(code) != 0) _exit(code);
    first = Time::now();
    const bool finishes = finishing_ > 0;
    if (!finishes) end = first + most_ending_;
    LogInfo(finishes ? "stopping: finished work will be committed; a second signal ends the program at once"
                     : "stopping; a second signal ends the program at once");
    stop_.request_stop();
  }
}

}  // namespace pipeline
