// Keeps the trainer's events: in events.jsonl of the run directory and in the host's own file.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "base/json.h"
#include "plugins/native/services.h"

namespace pipeline {

/// The end of the events in the file at `path`, by its last 64 KiB.
struct KeptEvents {
  std::int64_t step = -1;    // of the last event `step`; -1: there is none
  std::int64_t attempt = 0;  // of the last event; 0: there is none
};
KeptEvents LastKept(const std::string& path);

/// For one run of the stage. One thread. If a file cannot be written, it warns once and the training
/// continues.
class EventJournal {
 public:
  /// Appends to the file at `path`, after ending a line that a killed run left torn. `call` outlives it.
  EventJournal(std::string path, const PluginServices& call);
  ~EventJournal();
  EventJournal(const EventJournal&) = delete;
  EventJournal& operator=(const EventJournal&) = delete;

  /// Keeps `event`, unless too many arrive in one second.
  void Keep(const Json& event, std::chrono::nanoseconds now);
  /// The number of events dropped because too many arrived.
  std::uint64_t drowned() const { return drowned_; }

 private:
  void Write(const std::string& line);

  const std::string path_;
  const PluginServices& call_;
  std::FILE* file_ = nullptr;
  bool given_up_ = false;
  std::chrono::nanoseconds second_{0};  // start of the second being counted
  int in_second_ = 0;
  std::uint64_t drowned_ = 0;
};

}  // namespace pipeline
