// Checks whether this machine can use buckets of Google Cloud Storage.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "storage/remote/gcs/gcs_client.h"
#include "storage/remote/http/environment.h"
#include "storage/remote/scheme/checkup.h"
#include "storage/uri.h"

namespace pipeline {

/// Checks the credentials, then each bucket once, then the objects.
class GcsCheckup final : public Checkup {
 public:
  /// `spool`: directory for the test object before its upload, created by MakeOwnDirectory.
  GcsCheckup(EnvironmentLookup environment, std::string spool, CheckTeller tell, std::stop_token stop);

  void Check(const LocationUse& use) override { uses_.push_back(use); }
  void Finish() override;

 private:
  /// Checks that credentials exist and give a token. False: the buckets need no check.
  bool CheckIdentity();
  /// Checks existence, region, the cost of removing objects, and reading. If it writes there, it also
  /// creates an object below `location` and removes it.
  void CheckBucket(const Uri& location, bool writes);
  void CheckObject(const Uri& location);
  /// False: further checks of the bucket are pointless.
  bool CheckProperties(const std::string& bucket);
  void CheckRegion(const std::string& bucket, const std::string& location);
  void CheckListing(const Uri& location, bool writes);
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
  std::vector<LocationUse> uses_;
  std::shared_ptr<GcsClient> client_;  // shared with stores; null until CheckIdentity succeeded
  std::optional<std::string> metadata_host_;
  std::string region_;  // of this machine; empty: unknown
  std::string member_;  // whom IAM commands grant roles to, in IAM's notation
};

}  // namespace pipeline
