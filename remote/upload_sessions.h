// The URIs of upload sessions that are open, in one file of mode 0600: whoever has such a URI can write. A
// process that was killed leaves them there, and Take lets another one end them.
#pragma once

#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "remote/secret.h"

namespace pipeline {

/// A line of the file is "BOOT8-PID-N URI"; what is no such line is left out. Empty when no session is open.
/// Safe from any thread and beside other processes of one machine.
class UploadSessions {
 public:
  /// `path`: of the file, whose directory is made when it is needed.
  explicit UploadSessions(std::string path) : path_(std::move(path)) {}

  /// Notes a session before anything is sent to it; what to call End with.
  Result<std::string> Begin(const Secret& uri);
  Status End(std::string_view id);
  /// Takes out the sessions of processes that are gone.
  Result<std::vector<Secret>> TakeAbandoned();

 private:
  const std::string path_;
  std::mutex mutex_;  // one of this process at a time at the file
};

}  // namespace pipeline
