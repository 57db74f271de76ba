// What the trainer said, for later: events.jsonl in the run directory, and the host's own file.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/json.h"
#include "plugins/train/host_call.h"

namespace pipeline {

/// One run of the stage. One thread. A file that cannot be written is warned about once and stops nothing.
class EventJournal {
 public:
  /// Appends to the file at `path`; what a killed run left torn there is ended first. `call` outlives it.
  EventJournal(std::string path, const HostCall& call);
  ~EventJournal();
  EventJournal(const EventJournal&) = delete;
  EventJournal& operator=(const EventJournal&) = delete;

  /// Keeps `event`, unless a flood of them drowns it.
  void Keep(const Json& event, std::chrono::nanoseconds now);
  /// Events that were not kept because too many came.
  std::uint64_t drowned() const { return drowned_; }

 private:
  void Write(const std::string& line);

  const std::string path_;
  const HostCall& call_;
  std::FILE* file_ = nullptr;
  bool given_up_ = false;
  std::chrono::nanoseconds second_{0};  // when the second began that is counted
  int in_second_ = 0;
  std::uint64_t drowned_ = 0;
};

}  // namespace pipeline
