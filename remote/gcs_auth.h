// Where Google Cloud Storage is and who we are there: Application Default Credentials, and tokens kept as
// long as they are good. The one file below cli/ that may look into the environment.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "remote/gcs_credentials.h"
#include "remote/gcs_token.h"
#include "remote/secret.h"

namespace pipeline {

/// The value of a variable; absent where it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;
EnvironmentLookup ProcessEnvironment();

/// The variable that names the project which pays for requests to buckets whose owner does not.
inline constexpr const char* kUserProjectName = "PIPE_USER_PROJECT";

/// Where the API is.
struct GcsEndpoint {
  std::string url = "https://storage.googleapis.com";  // without a slash at the end
  bool emulator = false;                               // STORAGE_EMULATOR_HOST: nobody is asked who they are
};
/// STORAGE_EMULATOR_HOST, "http://host:port" or "host:port"; else CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE,
/// which keeps credentials and so must be https or this machine; else Google.
Result<GcsEndpoint> FindGcsEndpoint(const EnvironmentLookup& environment);

/// How somebody who has no credentials gets some; behind what was refused, or could not be found.
inline constexpr std::string_view kMakeCredentials =
    "run: gcloud auth application-default login (gcloud auth login alone does not make them), or set "
    "GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account";

/// Nobody said who we are: there are no credentials, not bad ones. What is public can be read all the same.
struct NoCredentials final : StatusDetail {};

/// Application Default Credentials: GOOGLE_APPLICATION_CREDENTIALS, which must be good where it is set; the
/// file of `gcloud auth application-default login`; the metadata server. Anonymous at an emulator. kNotFound
/// with NoCredentials and the command to run where there are none. `product_file` tells whose machine this
/// is.
Result<GcsCredentials> FindGcsCredentials(const EnvironmentLookup& environment, const GcsEndpoint& endpoint,
                                          const GcsTokenTools& tools, std::stop_token stop = {},
                                          const std::string& product_file = "/sys/class/dmi/id/product_name");

/// The metadata server of this machine; absent where there is none. As FindGcsCredentials looks for it.
std::optional<std::string> FindMetadataHost(
    const EnvironmentLookup& environment, const GcsTokenTools& tools, std::stop_token stop = {},
    const std::string& product_file = "/sys/class/dmi/id/product_name");

/// Tokens of one identity, for all who need one. Safe from any thread: one fetches, the others wait, or go on
/// with the token that is still good.
class GcsAuth {
 public:
  GcsAuth(GcsCredentials credentials, GcsTokenTools tools);

  /// Absent where access is anonymous.
  Result<std::optional<Secret>> Token(std::stop_token stop);
  /// A server refused `token`: the next one is new.
  void Reject(const Secret& token);
  /// When an answer was sent, by its Date header. A clock that is minutes wrong is warned about once, and
  /// tokens are dated by the servers' from then on. True where it is wrong.
  bool NoteServerTime(std::int64_t unix_seconds);

  bool anonymous() const { return std::holds_alternative<AnonymousAccess>(credentials_.kind); }
  /// For messages: "key.json", "metadata server".
  const std::string& origin() const { return credentials_.origin; }

 private:
  const GcsCredentials credentials_;
  const GcsTokenTools tools_;
  Mutex mutex_;  // not held while a token is fetched
  ConditionVariable changed_;
  std::optional<GcsToken> token_ GUARDED_BY(mutex_);
  std::chrono::nanoseconds refresh_at_ GUARDED_BY(mutex_){0};
  bool fetching_ GUARDED_BY(mutex_) = false;
  std::chrono::seconds clock_ahead_ GUARDED_BY(mutex_){0};
};

}  // namespace pipeline
