// HTTP requests, one attempt each; storage/remote/http/retry.h decides about retries. Implemented by
// http_transfer, which moves the bytes, and http_address, which parses URLs: only these two include curl.
// http_error.cc says what an unsuccessful answer means.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "base/status.h"

namespace pipeline {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<HttpHeader> headers = {};
  /// The body: `body`, or `body_bytes` of `file` from `body_offset` on, read while sending. `file` outlives
  /// the request.
  std::string body = {};
  const ByteFile* file = nullptr;
  std::uint64_t body_offset = 0;
  std::uint64_t body_bytes = 0;
  /// Maximum number of redirects that a GET or HEAD follows, to http and https only and never from https to
  /// http. Servers other than the first get no Authorization and no Cookie. 0: a redirect is returned as
  /// the answer.
  int redirects = 0;
  bool through_proxy = true;  // the proxy of the environment, if any
  /// Replaces HttpLimits::stall for this request; 0: the client's.
  std::chrono::milliseconds stall{0};
};

struct HttpResponse {
  int status = 0;
  std::vector<HttpHeader> headers;  // of the last response; names in lower case
  std::string url;                  // of the last request, after redirects

  /// Absent: the server did not send it. The first value if it was sent several times.
  std::optional<std::string_view> Header(std::string_view lower_case_name) const;
};

/// One response and its body while it arrives. One thread at a time. Destroying it early ends the transfer.
class HttpExchange : public ByteReader {
 public:
  virtual const HttpResponse& response() const = 0;
};

struct HttpLimits {
  std::chrono::milliseconds connect{20'000};
  /// A transfer fails (kUnavailable) if no byte moves for this long, or if its response has not begun this
  /// long after the whole request was sent, even if header bytes trickle in.
  std::chrono::milliseconds stall{60'000};
  /// Bytes per second over all transfers of a client; 0: no limit.
  std::uint64_t bytes_per_second = 0;
  /// PEM file of trusted CAs; empty: the system's.
  std::string ca_file = {};
};

/// Keeps connections open for the next request to the same server. Always verifies TLS certificates. Safe
/// from any thread.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  /// Sends the request and waits for the response headers; any status counts as success here. kUnavailable
  /// if a retry may help (no connection, reset, stalled); kCancelled; kInvalidArgument (a malformed URL, an
  /// invalid certificate, too many redirects). Read fails with kUnavailable if the body ends before its
  /// announced length. No message contains a query, a header's value or a body.
  virtual Result<std::unique_ptr<HttpExchange>> Start(const HttpRequest& request, std::stop_token stop) = 0;
};

std::unique_ptr<HttpClient> NewHttpClient(const HttpLimits& limits = {});

/// The client that all stores of the process share: a connection that one has left is of use to the next.
/// It trusts the CAs of the environment.
std::shared_ptr<HttpClient> SharedHttpClient();

/// A whole response with a small body: kResourceExhausted above `max_bytes`.
struct HttpAnswer {
  HttpResponse response;
  std::string body;
};
Result<HttpAnswer> Fetch(HttpClient& client, const HttpRequest& request, std::uint64_t max_bytes,
                         std::stop_token stop = {});

/// The code of an unsuccessful response: kNotFound for 404 and 410, kUnavailable for temporary failures
/// (408, 429, 5xx), kUnimplemented for 501 and 505, kPermissionDenied for 401, 403 and 407,
/// kFailedPrecondition for 412, kInvalidArgument for the others.
Code HttpCode(int status);

/// "<url>: <what>: the server answers 403 (forbidden); <what to do>". `what` may be empty.
Status HttpError(const HttpResponse& response, std::string_view url, std::string_view what);

/// The pause that the server asks for (Retry-After); absent: none. `unix_millis_now`: for a server that names
/// a date and does not say what time it has.
std::optional<std::chrono::milliseconds> AskedPause(const HttpResponse& response,
                                                    std::int64_t unix_millis_now);

}  // namespace pipeline
