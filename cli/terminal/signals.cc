#include "cli/terminal/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "base/log.h"
#include "cli/terminal/exit_code.h"

namespace pipeline {

namespace {

using Time = std::chrono::steady_clock;

/// Schedulers signal every process of a job, and the script that started this one passes its own signal on:
/// so soon after each other two SIGTERM are one.
constexpr std::chrono::milliseconds kOneTermination{1'000};

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    // The kernel would keep an ignored signal that is blocked, and sigwait would get it.
    struct sigaction now = {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  sigaddset(&set, SIGUSR1);  // only the destructor sends it, to end the loop
  return set;
}

}  // namespace

SignalWatch::SignalWatch() {
  const sigset_t set = Watched();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // inherited by every thread that is made later
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write, not the end of the process
  thread_ = std::thread([this] { Loop(); });
}

SignalWatch::~SignalWatch() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void SignalWatch::Loop() {
  const sigset_t set = Watched();
  Time::time_point first;
  while (true) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (signal == SIGUSR1) {
      if (ending_) return;
      continue;
    }
    const int code = signal == SIGTERM ? kExitTerminate : signal == SIGHUP ? kExitHangup : kExitInterrupt;
    if (signal == SIGTERM && exit_code_ == kExitTerminate && Time::now() - first < kOneTermination) continue;
    // Nothing unfinished counts, so an exit at once is safe; only work is lost.
    if (exit_code_.exchange(code) != 0) _exit(code);
    first = Time::now();
    LogInfo("stopping: finished work will be committed; a second signal ends the program at once");
    stop_.request_stop();
  }
}

}  // namespace pipeline
