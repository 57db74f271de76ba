// One request after another over connections that stay open, by curl. What stands above it (redirects, who
// transfers next) is in http_client.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "remote/http_client.h"
#include "remote/rate_limit.h"

namespace pipeline {

/// What is looked up once for all transfers of a client: addresses and TLS sessions. Safe from any thread.
class HttpSessions;
std::shared_ptr<HttpSessions> NewHttpSessions();

/// One thread at a time. Nothing moves but inside a call: a body that nobody reads waits at its server.
class HttpTransfer {
 public:
  /// `limit` outlives the transfer.
  HttpTransfer(std::shared_ptr<HttpSessions> sessions, const HttpLimits& limits, RateLimit& limit);
  ~HttpTransfer();

  /// Sends `request` to `url` and waits for the headers of the response. Its body and file are not looked at
  /// later.
  Status Begin(const HttpRequest& request, const std::string& url, bool with_credentials,
               std::stop_token stop);
  const HttpResponse& response() const;
  /// As ByteReader::Read.
  Result<std::size_t> ReadBody(std::span<char> out);
  /// Ends the transfer. The connection is kept where nothing of the response, or little, is outstanding.
  void End();

 private:
  class Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace pipeline
