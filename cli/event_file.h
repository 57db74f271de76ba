// What plugins said while a run went on, a JSON object a line: runs/ID/plugin_events.jsonl.
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

/// Safe from any thread. Members of a line: time (ISO 8601, UTC), stage, event. For people and for
/// reports: a file that cannot be written is warned about once and changes nothing of the run.
class EventFile {
 public:
  /// The file and its directory are made with the first event. `clock` outlives it.
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
