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
  /// `limit` outlives the transfer.
  HttpTransfer(std::shared_ptr<HttpSessions> sessions, const HttpLimits& limits, RateLimit& limit);
  ~HttpTransfer();

  /// Sends `request` to `url` and waits for the response headers. Does not use the request's body or file
  /// after it returns.
  Status Begin(const HttpRequest& request, const std::string& url, bool with_credentials,
               std::stop_token stop);
  const HttpResponse& response() const;
  /// As ByteReader::Read.
  Result<std::size_t> ReadBody(std::span<char> out);
  /// Ends the transfer. Keeps the connection if little or nothing of the response is left.
  void End();

 private:
  class Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace pipeline
