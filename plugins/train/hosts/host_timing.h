// The times of the protocol between hosts: hosts.md, section 4.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace pipeline {

/// Each is on a monotonic clock of the machine that uses it; clocks of two machines are never compared.
struct HostTiming {
  using Time = std::chrono::nanoseconds;

  Time renew = std::chrono::seconds(10);       // a host replaces its card this often
  Time own_limit = std::chrono::seconds(30);   // a host without a renewal for so long kills its trainer
  Time given_up = std::chrono::seconds(40);    // a host is dead if its card has not changed for so long
  Time poll = std::chrono::seconds(3);         // between two reads of the others' objects
  Time decide = std::chrono::seconds(50);      // from the first failed trainer until it decides the attempt
  Time save = std::chrono::seconds(50);        // from a stop of a host until all trainers have saved
  Time start_limit = std::chrono::minutes(2);  // until a host has accepted an attempt
  Time hosts_wait = std::chrono::minutes(30);  // for hosts that are missing
  Time first_backoff = std::chrono::seconds(1);
  Time longest_backoff = std::chrono::seconds(60);
  int patient_losses = 3;  // attempts in a row that may lose a host before the next one waits
};

/// The times of a training. `factor` shortens all of them, for tests: the value of PIPE_TEST_HOST_TIMES, a
/// number from 0.01 to 1; absent: 1.
Result<HostTiming> TimingFor(std::chrono::minutes hosts_wait, const std::optional<std::string>& factor);

/// For messages.
inline std::int64_t WholeSeconds(HostTiming::Time time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace pipeline
