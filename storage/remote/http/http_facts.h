// The metadata of a file on a web server, asked for before its bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/result.h"
#include "storage/remote/http/http_client.h"
#include "storage/remote/http/retry.h"

namespace pipeline {

inline constexpr int kHttpRedirects = 10;

struct HttpFacts {
  std::uint64_t size = 0;
  std::string etag;           // as sent; empty: none
  std::string last_modified;  // as sent; empty: none
  std::string final_url;      // after redirects; may expire
  bool takes_ranges = false;  // the server says so, or has sent a range
  std::string coding;         // its ContentCoding, and `size` is of the encoded bytes; empty: as stored

  /// Changes if the bytes may have changed; empty: the server gives no version.
  std::string Version() const;
  /// The value for If-Range: a strong ETag, else Last-Modified; empty: neither exists.
  std::string Validator() const;
};

/// The server encodes the file, although the request forbids it.
struct EncodedBody final : StatusDetail {
  explicit EncodedBody(HttpFacts of_it) : facts(std::move(of_it)) {}
  HttpFacts facts;
};

/// The size of the file is not the assumed one.
struct OtherSize final : StatusDetail {
  explicit OtherSize(std::uint64_t its) : size(its) {}
  std::uint64_t size;
};

/// Nothing proves that the rest of the file has the same version: the download cannot resume.
struct NoRest final : StatusDetail {};

/// The server refuses a range inside the size that it named before.
struct NoRange final : StatusDetail {};

/// Makes kFailedPrecondition with EncodedBody.
Status EncodedAs(HttpFacts facts, const std::string& url);
/// As EncodedAs if the response body is encoded; OK if it is as stored.
Status CheckIsPlain(const HttpResponse& response, const std::string& url);

/// kDataLoss, "changed while it was read", if `response` is about other bytes than `facts`. `size`: of the
/// whole file, as the response says; absent: unknown. `is_rest`: the response continues earlier bytes, so
/// it must name its version if `facts` has one.
Status CheckUnchanged(const HttpFacts& facts, const HttpResponse& response, std::optional<std::uint64_t> size,
                      bool is_rest, const std::string& url);

/// kFailedPrecondition if the response is a web page although `url` does not look like one (a login page,
/// or an error sent as success). kNotFound if it lists the directory at `url`.
Status CheckIsFile(const HttpResponse& response, const std::string& url);

/// How to ask a server: the retries, and HttpRequest::stall.
struct HttpMeans {
  RetryMeans retry = {};
  std::chrono::milliseconds stall{0};
};

/// Asks by HEAD, or by a range of one byte if HEAD is refused; retries as `means` allows. kNotFound: no
/// such file. kFailedPrecondition: the server does not tell the size; an encoded file is allowed, with size
/// 0.
Result<HttpFacts> AskFacts(HttpClient& client, const std::string& url, const HttpMeans& means,
                           std::stop_token stop);

/// Makes a request for the file as it is stored.
HttpRequest RequestFor(const std::string& url, const HttpMeans& means);

}  // namespace pipeline
