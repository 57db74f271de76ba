// Turns Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) into a stop token: the first signal stops the
// run gracefully, the second ends the program at once. Two SIGTERM within a second are one signal.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace pipeline {

/// Create it before any other thread, so that only its own thread receives the signals. One per program. A
/// signal that was ignored at program start stays ignored, as `nohup` requires.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  /// The exit code for the received signal; 0: none yet.
  int exit_code() const { return exit_code_.load(); }

 private:
  void Loop();

  std::stop_source stop_;
  std::atomic<int> exit_code_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace pipeline
