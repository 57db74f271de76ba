// Requests to the APIs of Google Cloud that speak JSON, with a token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "storage/remote/gcs/gcs_auth.h"
#include "storage/remote/http/environment.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/retry.h"

namespace pipeline {

/// Failure detail: the error that the service told. Source: cloud.google.com/apis/design/errors
struct ApiError final : StatusDetail {
  int http = 0;         // the status of the answer
  int code = 0;         // of google.rpc.Code, such as 8; 0: unknown
  std::string message;  // in one line
};
/// Parses {"error": {…}}; also the error of an operation, with `http` 0.
ApiError ParseApiError(int http, const Json& error);
/// The failure with this detail. `where`: the beginning of its message.
Status FailureOf(ApiError error, const std::string& where);

struct ApiAnswer {
  Json body;
  std::optional<std::int64_t> now;  // the seconds since 1970 of the service's clock; absent: it does not tell
};

/// One service. Safe from any thread.
class GoogleApi {
 public:
  /// `endpoint`: "https://tpu.googleapis.com". `auth` null: requests have no token. The clock and the pause
  /// of `means` outlive it.
  GoogleApi(std::string endpoint, std::shared_ptr<HttpClient> http, std::shared_ptr<GcsAuth> auth,
            RetryMeans means);
  /// The service at `endpoint` for this process: `variable` may name another address, https or this machine,
  /// where no token is sent. kNotFound with NoCredentials: this machine has no credentials.
  static Result<std::unique_ptr<GoogleApi>> Open(std::string endpoint, const char* variable,
                                                 const EnvironmentLookup& environment);

  /// Asks for something and changes nothing: again, while the service does not answer. `path`: from the slash
  /// on, with its query. Failures have an ApiError if the service answered.
  Result<ApiAnswer> Get(const std::string& path, const std::stop_token& stop);
  /// Sends a change once. kUnavailable: it may have happened.
  Result<ApiAnswer> Send(const std::string& method, const std::string& path, const Json& body,
                         const std::stop_token& stop);

 private:
  Result<ApiAnswer> Once(const std::string& method, const std::string& path, const std::string& body,
                         const std::stop_token& stop);
  Result<ApiAnswer> Try(const std::string& method, const std::string& path, const std::string& body,
                        const std::optional<Secret>& token, const std::stop_token& stop);

  const std::string endpoint_;
  const std::shared_ptr<HttpClient> http_;
  const std::shared_ptr<GcsAuth> auth_;
  const RetryMeans means_;
};

}  // namespace pipeline
