// What a server says about one file before it sends it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

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

  /// Differs where the bytes may differ; empty where the server tells nothing to know them by.
  std::string Version() const;
  /// What goes into If-Range: a strong ETag, else Last-Modified; empty where there is neither.
  std::string Validator() const;
};

/// kDataLoss, "changed while it was read", where `response` is about other bytes than `facts`. `size`: what
/// the response says that the whole file has; absent where it does not.
Status CheckUnchanged(const HttpFacts& facts, const HttpResponse& response, std::optional<std::uint64_t> size,
                      const std::string& url);

/// kFailedPrecondition where the response is a web page and `url` does not say that it is one: a page to log
/// in, or an error sent as a success. kNotFound where it lists the directory that `url` is.
Status CheckIsFile(const HttpResponse& response, const std::string& url);

/// Asks by HEAD, and by a range of one byte where that is refused; again as often as `means` allow. kNotFound
/// where there is no such file; kFailedPrecondition where the server does not say how large it is.
Result<HttpFacts> AskFacts(HttpClient& client, const std::string& url, const RetryMeans& means,
                           std::stop_token stop);

}  // namespace pipeline
