// Requests over HTTP, one attempt each: what is worth another is for remote/retry.h to say. Below it
// stand http_transfer, which moves the bytes, and http_address, which reads URLs: they alone include curl.
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

namespace pipeline {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<HttpHeader> headers = {};
  /// Sent as the body: `body`, or `body_bytes` of `file` from `body_offset` on, read while it is sent.
  /// The file outlives the request.
  std::string body = {};
  const ByteFile* file = nullptr;
  std::uint64_t body_offset = 0;
  std::uint64_t body_bytes = 0;
  /// How many redirects a GET or HEAD follows, to http and https only and never from https to http. A server
  /// other than the first is sent no Authorization and no Cookie. With 0 a redirect is an answer like others.
  int redirects = 0;
  bool through_proxy = true;  // that of the environment, if any
  /// In place of HttpLimits::stall, for this request; 0: that of the client.
  std::chrono::milliseconds stall{0};
};

struct HttpResponse {
  int status = 0;
  std::vector<HttpHeader> headers;  // of the last response; names in lower case
  std::string url;                  // of the last request, after redirects

  /// Absent where the server did not send it; the first where it sent several.
  std::optional<std::string_view> Header(std::string_view lower_case_name) const;
};

/// One response while its body arrives. One thread at a time; destroyed early, the transfer ends.
class HttpExchange : public ByteReader {
 public:
  virtual const HttpResponse& response() const = 0;
};

struct HttpLimits {
  std::chrono::milliseconds connect{20'000};
  /// A transfer in which no byte moved for so long has failed (kUnavailable), and so has one whose answer has
  /// not begun so long after all of the request was sent, however slowly its headers drip.
  std::chrono::milliseconds stall{60'000};
  /// Bytes a second over all transfers of a client; 0: no limit.
  std::uint64_t bytes_per_second = 0;
  /// Whose word certificates are believed by, a file in PEM; empty: those of the machine.
  std::string ca_file = {};
};

/// Keeps connections for the next request to the same server. TLS certificates are always verified.
/// Safe from any thread.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  /// Sends the request and waits for the headers of the response: any status is a success here. Fails with
  /// kUnavailable where another attempt may help (no connection, reset, stalled), kCancelled, or
  /// kInvalidArgument (a URL that cannot be, a certificate that does not hold, too many redirects). A
  /// body that ends before its announced length fails to Read with kUnavailable. No message holds a query,
  /// a header's value or a body.
  virtual Result<std::unique_ptr<HttpExchange>> Start(const HttpRequest& request, std::stop_token stop) = 0;
};

std::unique_ptr<HttpClient> NewHttpClient(const HttpLimits& limits = {});

/// The whole answer to a request whose body is small: kResourceExhausted above `max_bytes`.
struct HttpAnswer {
  HttpResponse response;
  std::string body;
};
Result<HttpAnswer> Fetch(HttpClient& client, const HttpRequest& request, std::uint64_t max_bytes,
                         std::stop_token stop = {});

}  // namespace pipeline
