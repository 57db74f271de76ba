// Fetches one access token for one kind of credentials.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "storage/remote/gcs/gcs_credentials.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/retry.h"
#include "storage/remote/http/secret.h"

namespace pipeline {

struct GcsToken {
  Secret text;
  std::chrono::nanoseconds expires{0};  // on the monotonic clock
};

/// The tools that fetch tokens. Pointers in it outlive its users.
struct GcsTokenTools {
  std::shared_ptr<HttpClient> client;           // shared with all who send requests
  std::shared_ptr<HttpClient> metadata_client;  // gives up sooner
  /// For every token request.
  RetryMeans means = {{std::chrono::milliseconds(1'000), std::chrono::milliseconds(4'000), 3,
                       std::chrono::milliseconds(15'000)}};
};

/// Not for anonymous access. kUnavailable if the failure may be temporary; kPermissionDenied, with the
/// command to run, if the credentials are no longer valid. `clock_ahead`: how far the servers' clock is
/// ahead of ours.
Result<GcsToken> FetchGcsToken(const GcsCredentials& credentials, const GcsTokenTools& tools,
                               std::chrono::seconds clock_ahead, std::stop_token stop);

/// True if a metadata server answers at `host`.
bool FindMetadataServer(const GcsTokenTools& tools, std::string_view host, std::stop_token stop);

}  // namespace pipeline
