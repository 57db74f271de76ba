// Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) as a stop token: the first one drains, the second one
// ends the program at once.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace pipeline {

/// Made before any other thread, so that only its own thread takes the signals. One per program. A signal
/// that was ignored when the program started stays ignored, as `nohup` wants it.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  /// The exit code for the signal that came; 0 while none has.
  int exit_code() const { return exit_code_.load(); }

 private:
  void Loop();

  std::stop_source stop_;
  std::atomic<int> exit_code_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace pipeline
