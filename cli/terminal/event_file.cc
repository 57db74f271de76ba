#include "cli/terminal/event_file.h"

#include <cerrno>

#include "base/log.h"
#include "base/str.h"
#include "storage/directory.h"

namespace pipeline {

EventFile::~EventFile() {
  const Lock lock(mutex_);
  if (file_ != nullptr) std::fclose(file_);
}

void EventFile::Open() {
  if (file_ != nullptr || given_up_) return;
  Status made = MakeDirectories(ParentDirectory(path_));
  if (made.ok()) {
    file_ = std::fopen(path_.c_str(), "ae");
    if (file_ == nullptr) made = SystemError(path_, errno);
  }
  if (made.ok()) return;
  given_up_ = true;
  LogWarning(StrCat("events are not kept: ", made.message()));
}

void EventFile::Write(std::string_view stage, const Json& event) {
  Json line;
  line["time"] = Iso8601(clock_.UnixMillis());
  line["stage"] = stage;
  line["event"] = event;
  const std::string text = line.Dump() + "\n";
  const Lock lock(mutex_);
  Open();
  if (given_up_) return;
  // Each line is flushed: a reader of the growing file sees whole lines, and a killed run leaves its last
  // ones.
  if (std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0) return;
  given_up_ = true;
  LogWarning(StrCat("events are not kept any more: ", SystemError(path_, errno).message()));
}

}  // namespace pipeline
