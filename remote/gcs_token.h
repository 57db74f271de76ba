// One access token for one kind of credentials: what is signed, and what is asked of whom.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "remote/gcs_credentials.h"
#include "remote/http_client.h"
#include "remote/retry.h"
#include "remote/secret.h"

namespace pipeline {

struct GcsToken {
  Secret text;
  std::chrono::nanoseconds expires{0};  // on the monotonic clock
};

/// What fetching tokens needs. What is pointed to outlives the user.
struct GcsTokenTools {
  std::shared_ptr<HttpClient> client;           // shared with whoever sends requests
  std::shared_ptr<HttpClient> metadata_client;  // gives up sooner
  /// Of every request for a token.
  RetryMeans means = {{std::chrono::milliseconds(1'000), std::chrono::milliseconds(4'000), 3,
                       std::chrono::milliseconds(15'000)}};
};

/// Not for anonymous access. kUnavailable where it may pass, kPermissionDenied with the command to run where
/// the credentials are no longer good. `clock_ahead`: by how much the servers' clock is ahead of ours.
Result<GcsToken> FetchGcsToken(const GcsCredentials& credentials, const GcsTokenTools& tools,
                               std::chrono::seconds clock_ahead, std::stop_token stop);

/// Whether a metadata server answers at `host`: true, or false where none does.
bool FindMetadataServer(const GcsTokenTools& tools, std::string_view host, std::stop_token stop);

}  // namespace pipeline
