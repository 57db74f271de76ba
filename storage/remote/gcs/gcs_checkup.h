// Checks whether this machine can use buckets before a run depends on them; each problem comes with the one
// command that fixes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/http/environment.h"
#include "storage/uri.h"

namespace pipeline {

enum class CheckLevel : std::uint8_t { kOk, kWarning, kWrong };
/// Called once per check, with "what: how it is[: why][; run: COMMAND]".
using CheckTeller = std::function<void(CheckLevel level, std::string line)>;

/// Gives up on a request after a few seconds. One thread at a time.
class GcsCheckup {
 public:
  /// `spool`: directory for the test object before its upload, created by MakeOwnDirectory.
  GcsCheckup(EnvironmentLookup environment, std::string spool, CheckTeller tell, std::stop_token stop);

  /// Checks that credentials exist and give a token. False: the buckets need no check.
  bool CheckIdentity();
  /// Call after CheckIdentity. Checks existence, region, the cost of removing objects, and reading. kWrite:
  /// also creates an object below `place` and removes it.
  enum class Use : std::uint8_t { kRead, kWrite };
  void CheckBucket(const Uri& location, Use use);
  /// Call after CheckIdentity. Checks that the object exists.
  void CheckObject(const Uri& location);

 private:
  /// False: further checks of the bucket are pointless.
  bool CheckProperties(const std::string& bucket);
  void CheckRegion(const std::string& bucket, const std::string& location);
  void CheckListing(const Uri& location, Use use);
  void CheckWriting(const Uri& location);
  /// Reports an error response.
  void TellRefusal(const GcsOperation& operation, const GcsError& error, std::string_view role);
  std::string GrantCommand(const std::string& bucket, std::string_view role) const;
  std::optional<std::string> AskMachine(std::string_view what) const;
  /// Passes the Date header on, so that a clock that is wrong by minutes is reported.
  void NoteTime(const HttpResponse& response) const;

  const EnvironmentLookup environment_;
  const std::string spool_;
  const CheckTeller tell_;
  const std::stop_token stop_;
  std::shared_ptr<GcsClient> client_;  // shared with stores; null until CheckIdentity succeeded
  std::optional<std::string> metadata_host_;
  std::string region_;  // of this machine; empty: unknown
  std::string member_;  // whom IAM commands grant roles to, in IAM's notation
};

}  // namespace pipeline
