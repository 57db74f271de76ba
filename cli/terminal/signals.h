// Turns Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) into a stop token: the first signal stops the
// run gracefully, the second ends the program at once. Two SIGTERM within a second are one signal, and two
// others of one kind within half a second. SIGUSR1, SIGUSR2 and SIGQUIT, which schedulers send before they
// take a machine, count as SIGTERM. While nothing runs that is worth finishing, the program ends a few
// seconds after the first signal, whatever it waits for.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace pipeline {

/// Create it before any other thread, so that only its own thread receives the signals. One per program. A
/// signal that was ignored at program start stays ignored, as `nohup` requires.
class SignalWatch {
 public:
  /// `most_ending`: from the first signal to the end of a program that has nothing to finish. A name lookup
  /// or the file system of a network may take minutes, and only the end of the program ends it.
  explicit SignalWatch(std::chrono::milliseconds most_ending = std::chrono::milliseconds(7'000));
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// Work runs that the first signal lets finish, however long that takes. A signal that came before ends the
  /// program as if there were none.
  class Finishing {
   public:
    explicit Finishing(const SignalWatch& signals) : signals_(signals) { ++signals_.finishing_; }
    ~Finishing() { --signals_.finishing_; }
    Finishing(const Finishing&) = delete;
    Finishing& operator=(const Finishing&) = delete;

   private:
    const SignalWatch& signals_;
  };

  std::stop_token token() const { return stop_.get_token(); }
  /// The exit code for the received signal; 0: none yet.
  int exit_code() const { return exit_code_.load(); }

 private:
  void Loop();

  const std::chrono::milliseconds most_ending_;
  std::stop_source stop_;
  std::atomic<int> exit_code_{0};
  mutable std::atomic<int> finishing_{0};  // number of Finishing
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace pipeline
