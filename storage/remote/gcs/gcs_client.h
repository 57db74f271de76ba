// Requests to the JSON API of Google Cloud Storage, with access tokens, retries and error messages.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "storage/remote/gcs/gcs_auth.h"
#include "storage/remote/gcs/gcs_object.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/retry.h"

namespace pipeline {

struct GcsSettings {
  GcsEndpoint endpoint;
  std::string user_project;  // billed for requests; set only if the user asked for it
  RetryMeans means;          // its clock and pause outlive the client
};

/// Safe from any thread. Shared by the stores, files and writers that use it.
class GcsClient {
 public:
  GcsClient(GcsSettings settings, std::shared_ptr<HttpClient> http, std::shared_ptr<GcsAuth> auth)
      : settings_(std::move(settings)), http_(std::move(http)), auth_(std::move(auth)) {}

  /// "https://…/storage/v1/b/BUCKET/o/OBJECT?QUERY". Empty `object`: of all. `query` may be empty.
  std::string ObjectUrl(std::string_view bucket, std::string_view object, std::string_view query) const;
  std::string BucketUrl(std::string_view bucket, std::string_view query) const;
  std::string UploadUrl(std::string_view bucket, std::string_view query) const;
  std::string BatchUrl() const;

  /// False: the server has no batch endpoint, as an emulator may, and is not asked again.
  bool takes_batches() const { return takes_batches_; }
  void LeaveBatches() { takes_batches_ = false; }

  const GcsSettings& settings() const { return settings_; }
  HttpClient& http() const { return *http_; }
  GcsAuth& auth() const { return *auth_; }

 private:
  std::string Url(std::string_view path, std::string_view query) const;

  const GcsSettings settings_;
  const std::shared_ptr<HttpClient> http_;  // both shared with the other clients of the process
  const std::shared_ptr<GcsAuth> auth_;
  std::atomic<bool> takes_batches_{true};
};

/// A response: a body to read, or an error.
struct GcsReply {
  HttpResponse response;
  std::unique_ptr<HttpExchange> exchange;  // null if the status is 400 or above
  GcsError error;

  int status() const { return response.status; }
};

/// The attempts of one operation. Every request may be sent twice, so a request that changes something must
/// name the expected generation. One thread at a time.
class GcsOperation {
 public:
  /// `where`: the prefix of messages, gs://bucket/object. `client` outlives the operation.
  GcsOperation(GcsClient& client, std::string where, std::stop_token stop);

  /// Makes one attempt. kUnavailable if another may succeed: no connection, 408, 429, 5xx other than 501, and
  /// the first 401, after which a new token is fetched. Again says whether to try again. Every other status
  /// is an answer.
  Result<GcsReply> Start(HttpRequest request);
  /// As Retry::Again.
  Status Again(Status failure);
  void Progress() { retry_.Progress(); }
  struct Answer {
    int status = 0;
    HttpResponse response;
    std::string body;  // empty for an error
    GcsError error;
  };
  /// As Start, with the body of the answer: at most `most` bytes of it, or a few more.
  Result<Answer> SendOnce(const HttpRequest& request, std::size_t most = 16 << 20);
  /// Retries until there is an answer.
  Result<Answer> Send(const HttpRequest& request);
  /// The Status for an error response, with advice.
  Status Failure(const GcsError& error) const;
  /// A failure of this operation that a retry may fix.
  Status Unavailable(std::string_view why) const;

  const std::string& where() const { return where_; }
  const std::stop_token& stop() const { return stop_; }
  GcsClient& client() const { return client_; }

 private:
  Status Refused(const HttpResponse& response, const std::optional<Secret>& token);

  GcsClient& client_;
  const std::string where_;
  const std::stop_token stop_;
  Retry retry_;
  std::optional<std::chrono::milliseconds> asked_;  // the pause that the last answer asked for
  bool refused_ = false;                            // the last answer refused the token
  bool at_once_ = false;                            // the next attempt has a new token and need not wait
};

}  // namespace pipeline
