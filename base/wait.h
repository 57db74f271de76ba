// A wait that can be stopped, a stop by either of two tokens, and a stop after a time.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>

namespace pipeline {

/// Waits for `time`. False: a stop was requested before or at its end.
bool WaitFor(std::chrono::milliseconds time, std::stop_token stop);

/// Stops as soon as one of two tokens does.
class EitherStop {
 public:
  EitherStop(std::stop_token one, std::stop_token other)
      : one_(std::move(one), Relay{ends_}), other_(std::move(other), Relay{ends_}) {}
  EitherStop(const EitherStop&) = delete;
  EitherStop& operator=(const EitherStop&) = delete;

  std::stop_token token() const { return ends_.get_token(); }
  void Stop() { ends_.request_stop(); }

 private:
  struct Relay {
    std::stop_source to;
    void operator()() { to.request_stop(); }
  };
  std::stop_source ends_;
  std::stop_callback<Relay> one_, other_;
};

/// Its token stops after `time`, or together with `stop`. Needs a thread: for calls that may take seconds.
class TimeLimit {
 public:
  TimeLimit(std::chrono::milliseconds time, std::stop_token stop)
      : late_(std::move(stop), {}), timer_([this, time](std::stop_token done) {
          if (WaitFor(time, std::move(done))) late_.Stop();
        }) {}

  std::stop_token token() const { return late_.token(); }

 private:
  EitherStop late_;
  std::jthread timer_;  // last: its thread ends before the members that it uses
};

}  // namespace pipeline
