// What a server says about one file before it sends it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/result.h"
#include "remote/http_client.h"
#include "remote/retry.h"

namespace pipeline {

inline constexpr int kHttpRedirects = 10;

struct HttpFacts {
  std::uint64_t size = 0;
  std::string etag;           // as it was sent; empty: none
  std::string last_modified;  // as it was sent; empty: none
  std::string final_url;      // after redirects; good for a while only
  bool takes_ranges = false;  // says that it does, or has done so
  std::string coding;  // ContentCoding of it: then `size` is that of what is sent; empty: as it is stored

  /// Differs where the bytes may differ; empty where the server tells nothing to know them by.
  std::string Version() const;
  /// What goes into If-Range: a strong ETag, else Last-Modified; empty where there is neither.
  std::string Validator() const;
};

/// The server sends the file encoded, although it was asked for it as it is stored.
struct EncodedBody final : StatusDetail {
  explicit EncodedBody(HttpFacts of_it) : facts(std::move(of_it)) {}
  HttpFacts facts;
};

/// The file has another size than was assumed.
struct OtherSize final : StatusDetail {
  explicit OtherSize(std::uint64_t its) : size(its) {}
  std::uint64_t size;
};

/// Nothing tells that the rest of the file is of the same version: what is here cannot be gone on with.
struct NoRest final : StatusDetail {};

/// The server has no such range of the file, whose size it named before.
struct NoRange final : StatusDetail {};

/// kFailedPrecondition, with EncodedBody.
Status EncodedAs(HttpFacts facts, const std::string& url);
/// As EncodedAs where the body must not be taken for the file; OK where it is as stored.
Status CheckIsPlain(const HttpResponse& response, const std::string& url);

/// kDataLoss, "changed while it was read", where `response` is about other bytes than `facts`. `size`: what
/// the response says that the whole file has; absent where it does not.
/// `is_rest`: it goes on behind other bytes, so that it must say of which version it is, where `facts` do.
Status CheckUnchanged(const HttpFacts& facts, const HttpResponse& response, std::optional<std::uint64_t> size,
                      bool is_rest, const std::string& url);

/// kFailedPrecondition where the response is a web page and `url` does not say that it is one: a page to log
/// in, or an error sent as a success. kNotFound where it lists the directory that `url` is.
Status CheckIsFile(const HttpResponse& response, const std::string& url);

/// How a server is asked: how often, and HttpRequest::stall.
struct HttpMeans {
  RetryMeans retry = {};
  std::chrono::milliseconds stall{0};
};

/// Asks by HEAD, and by a range of one byte where that is refused; again as often as `means` allow. kNotFound
/// where there is no such file; kFailedPrecondition where the server does not say how large it is, unless it
/// sends it encoded (size 0).
Result<HttpFacts> AskFacts(HttpClient& client, const std::string& url, const HttpMeans& means,
                           std::stop_token stop);

/// A request for the file as it is stored.
HttpRequest RequestFor(const std::string& url, const HttpMeans& means);

}  // namespace pipeline
