// Finds the endpoint of Google Cloud Storage and Application Default Credentials, and caches access tokens.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/remote/gcs/gcs_credentials.h"
#include "storage/remote/gcs/gcs_token.h"
#include "storage/remote/http/environment.h"
#include "storage/remote/http/secret.h"

namespace pipeline {

/// The variable that names the project billed for requests to requester-pays buckets.
inline constexpr const char* kUserProjectName = "PIPE_USER_PROJECT";

/// The address of the API.
struct GcsEndpoint {
  std::string url = "https://storage.googleapis.com";  // without a slash at the end
  bool emulator = false;  // set by STORAGE_EMULATOR_HOST: no credentials are used
};
/// STORAGE_EMULATOR_HOST, "http://host:port" or "host:port"; else CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE,
/// which must be https or this machine, since credentials are sent to it; else Google.
Result<GcsEndpoint> FindGcsEndpoint(const EnvironmentLookup& environment);

/// How to get credentials; ends messages about refused or missing ones.
inline constexpr std::string_view kMakeCredentials =
    "run: gcloud auth application-default login (gcloud auth login alone does not make them), or set "
    "GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account";

/// There are no credentials, as opposed to bad ones. Public objects can still be read.
struct NoCredentials final : StatusDetail {};

/// Application Default Credentials, from GOOGLE_APPLICATION_CREDENTIALS (an error if it is set and bad),
/// the file of `gcloud auth application-default login`, or the metadata server. Anonymous with an emulator.
/// kNotFound with NoCredentials and the command to run if there are none. `product_file` tells whether
/// Google made this machine.
Result<GcsCredentials> FindGcsCredentials(const EnvironmentLookup& environment, const GcsEndpoint& endpoint,
                                          const GcsTokenTools& tools, std::stop_token stop = {},
                                          const std::string& product_file = "/sys/class/dmi/id/product_name");

/// The metadata server that the environment names, or Google's if Google made this machine; absent: neither.
/// Asks nobody.
std::optional<std::string> NamedMetadataHost(const EnvironmentLookup& environment,
                                             const std::string& product_file);

/// Finds the metadata server of this machine as FindGcsCredentials does; absent: none.
std::optional<std::string> FindMetadataHost(
    const EnvironmentLookup& environment, const GcsTokenTools& tools, std::stop_token stop = {},
    const std::string& product_file = "/sys/class/dmi/id/product_name");

/// The tokens of one identity, shared by all who need one. Safe from any thread: one thread fetches, the
/// others wait or use the current token while it is valid.
class GcsAuth {
 public:
  GcsAuth(GcsCredentials credentials, GcsTokenTools tools);

  /// Absent: access is anonymous.
  Result<std::optional<Secret>> Token(std::stop_token stop);
  /// A server refused `token`: the next call fetches a new one.
  void Reject(const Secret& token);
  /// Compares the Date header of a response with the local clock. Returns true if the clock is wrong by
  /// minutes; warns once, and from then on dates tokens by the server's clock.
  bool NoteServerTime(std::int64_t unix_seconds);

  bool anonymous() const { return std::holds_alternative<AnonymousAccess>(credentials_.kind); }
  /// For messages: "key.json", "metadata server".
  const std::string& origin() const { return credentials_.origin; }

 private:
  const GcsCredentials credentials_;
  const GcsTokenTools tools_;
  Mutex mutex_;  // not held while a token is being fetched
  ConditionVariable changed_;
  std::optional<GcsToken> token_ GUARDED_BY(mutex_);
  std::chrono::nanoseconds refresh_at_ GUARDED_BY(mutex_){0};
  bool fetching_ GUARDED_BY(mutex_) = false;
  std::chrono::seconds clock_ahead_ GUARDED_BY(mutex_){0};
};

}  // namespace pipeline
