// Finds the endpoint of Google Cloud Storage and Application Default Credentials, and caches access tokens.
// The credentials are parsed from the files that gcloud and the console write (gcs_credentials.cc); a token
// is fetched for each kind of them (gcs_token.cc).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/remote/http/environment.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/retry.h"
#include "storage/remote/http/secret.h"

namespace pipeline {

struct AnonymousAccess {};

/// The service account of this machine.
struct MetadataAccount {
  std::string host;  // "metadata.google.internal", or as the environment says
};

struct ServiceAccountKey {
  std::string email;
  std::string key_id;
  Secret private_key;  // PEM
};

/// A user, from `gcloud auth application-default login`.
struct AuthorizedUser {
  std::string client_id;
  Secret client_secret;
  Secret refresh_token;
};

/// A token of another identity provider, exchanged by Google (workload identity federation).
struct ExternalAccount {
  std::string audience;
  std::string subject_token_type;
  std::string token_url;
  std::string source_file;  // read at every exchange; or
  std::string source_url;   // requested at every exchange
  std::vector<std::pair<std::string, Secret>> source_headers;
  std::string token_field;        // member of the JSON answer; empty: the whole answer is the token
  std::string impersonation_url;  // empty: no impersonation
  std::chrono::seconds lifetime{3600};
};

struct GcsCredentials;

struct ImpersonatedAccount {
  std::shared_ptr<const GcsCredentials> source;  // shared by copies; immutable
  std::string impersonation_url;
  std::vector<std::string> delegates;
  std::chrono::seconds lifetime{3600};
};

struct GcsCredentials {
  std::variant<AnonymousAccess, MetadataAccount, ServiceAccountKey, AuthorizedUser, ExternalAccount,
               ImpersonatedAccount>
      kind;
  std::string origin;  // for messages: the file or the kind
};

/// Parses a credentials file. kInvalidArgument with the command that makes a good one; the message has
/// names of members and never their values.
Result<GcsCredentials> ParseGcsCredentials(std::string_view text, std::string_view origin);

/// True if secrets may be sent to `url`: https, a host of googleapis.com, no user and no port.
bool IsGoogleUrl(std::string_view url);

/// True if `url` is an http address of this machine, where a fake of a service may be.
bool IsThisMachine(const std::string& url);

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

/// Those of this process: its shared client.
GcsTokenTools UsualTokenTools();

/// Not for anonymous access. kUnavailable if the failure may be temporary; kPermissionDenied, with the
/// command to run, if the credentials are no longer valid. `clock_ahead`: how far the servers' clock is
/// ahead of ours.
Result<GcsToken> FetchGcsToken(const GcsCredentials& credentials, const GcsTokenTools& tools,
                               std::chrono::seconds clock_ahead, std::stop_token stop);

/// A request for the value at `path` of the metadata server `host`.
HttpRequest MetadataRequest(std::string_view host, std::string_view path);
/// True if a metadata server answers at `host`.
bool FindMetadataServer(const GcsTokenTools& tools, std::string_view host, std::stop_token stop);

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
