// The events of plugins during a run, one JSON object per line: runs/ID/plugin_events.jsonl.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"

namespace pipeline {

/// In the directory of the run.
inline constexpr std::string_view kPluginEventsName = "plugin_events.jsonl";

/// Safe from any thread. Members of a line: time (ISO 8601, UTC), stage, event. Only for people and
/// reports: if the file cannot be written, it warns once; the run is not affected.
class EventFile {
 public:
  /// Creates the file and its directory at the first event. `clock` outlives it.
  EventFile(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void Write(std::string_view stage, const Json& event);

 private:
  void Open() REQUIRES(mutex_);

  const std::string path_;
  const Clock& clock_;
  Mutex mutex_;
  std::FILE* file_ GUARDED_BY(mutex_) = nullptr;
  bool given_up_ GUARDED_BY(mutex_) = false;
};

}  // namespace pipeline
