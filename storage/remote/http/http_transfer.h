// Sends one request after another over persistent connections, with curl. Redirects and scheduling:
// http_client.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "storage/remote/http/http_client.h"
#include "storage/remote/http/rate_limit.h"

namespace pipeline {

/// DNS results and TLS sessions, shared by all transfers of a client. Safe from any thread.
class HttpSessions;
std::shared_ptr<HttpSessions> NewHttpSessions();

/// One thread at a time. Bytes move only inside a call: an unread body waits at its server.
class HttpTransfer {
 public:
  virtual ~HttpTransfer() = default;
  /// Sends `request` to `url` and waits for the response headers. Does not use the request's body or file
  /// after it returns.
  virtual Status Begin(const HttpRequest& request, const std::string& url, bool with_credentials,
                       std::stop_token stop) = 0;
  virtual const HttpResponse& response() const = 0;
  /// As ByteReader::Read.
  virtual Result<std::size_t> ReadBody(std::span<char> out) = 0;
  /// Ends the transfer. Keeps the connection if little or nothing of the response is left.
  virtual void End() = 0;
};
/// `limit` outlives the transfer.
std::unique_ptr<HttpTransfer> NewHttpTransfer(std::shared_ptr<HttpSessions> sessions,
                                              const HttpLimits& limits, RateLimit& limit);

}  // namespace pipeline
