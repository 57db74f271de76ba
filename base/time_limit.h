// A stop token with a time limit, for calls that may wait for others.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/wait.h"

namespace pipeline {

/// Its token stops after `time`, or together with `stop`. Needs a thread: for calls that may take seconds.
class TimeLimit {
 public:
  TimeLimit(std::chrono::milliseconds time, std::stop_token stop)
      : relay_(std::move(stop), Relay{&late_}), timer_([this, time](std::stop_token done) {
          if (WaitFor(time, std::move(done))) late_.request_stop();
        }) {}
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  std::stop_token token() const { return late_.get_token(); }

 private:
  struct Relay {
    std::stop_source* to;
    void operator()() const { to->request_stop(); }
  };
  std::stop_source late_;
  std::stop_callback<Relay> relay_;
  std::jthread timer_;  // last: its thread ends before the members that it uses
};

}  // namespace pipeline
