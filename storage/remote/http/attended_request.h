// One request while a person waits (base/attendance.h): a silent server is told and given up, and a name that
// no name server knows is no reason to ask again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/attendance.h"
#include "base/status.h"

namespace pipeline {

/// Detail of a failure: name servers give no address for the name of the server.
struct NoAddress final : StatusDetail {};

/// One thread at a time. If nobody waits, it does nothing.
class AttendedRequest {
 public:
  explicit AttendedRequest(std::stop_token stop);
  AttendedRequest(const AttendedRequest&) = delete;
  AttendedRequest& operator=(const AttendedRequest&) = delete;

  /// Stops with the token that was given, and with the person's wait. Works as long as this lives.
  std::stop_token stop() const { return either_ ? either_->token() : stop_; }
  /// Runs `begin`, which asks `server` (as HttpServerOf) and returns at the beginning of its answer; `shown`
  /// names the request. kUnavailable with SameAnswer: the patience with this server is over.
  Status Await(const std::string& server, const std::string& shown, const std::function<Status()>& begin);

 private:
  const std::shared_ptr<AttendedWait> wait_;  // null: nobody waits
  const std::stop_token stop_;
  std::optional<EitherStop> either_;  // absent: nobody waits
};

}  // namespace pipeline
