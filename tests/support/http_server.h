// An HTTP/1.1 server on loopback for tests: what it answers, and how it breaks, a handler decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "storage/remote/http/http_client.h"

namespace pipeline {

/// What the client asks. The body is read by the handler, piece by piece, so that a fault can strike in it.
struct ServedRequest {
  std::string method;
  std::string path;                 // as sent, percent-encoded, without the query
  std::string query;                // behind the `?`, as sent
  std::vector<HttpHeader> headers;  // names in lower case

  std::string_view Header(std::string_view lower_case_name) const;  // empty where there is none
  /// Percent-decoded; absent where the query has no such name.
  std::optional<std::string> Argument(std::string_view name) const;
};

/// One request being answered. Writes go out at once.
class ServedExchange {
 public:
  virtual ~ServedExchange() = default;
  virtual const ServedRequest& request() const = 0;
  /// The next bytes of the request's body (chunked or of known length); 0: its end. False: the client is
  /// gone.
  virtual bool ReadBody(std::span<char> out, std::size_t& got) = 0;
  virtual bool ReadWholeBody(std::string& body) = 0;
  /// Status line and headers. Content-Length is `length`; absent: chunked. After a status below 200 another
  /// one follows.
  virtual bool Begin(int status, const std::vector<HttpHeader>& headers,
                     std::optional<std::uint64_t> length) = 0;
  virtual bool Write(std::string_view bytes) = 0;
  /// A whole answer.
  virtual bool Answer(int status, const std::vector<HttpHeader>& headers, std::string_view body) = 0;
  /// Bytes as they are, in place of all of the above or after Begin: what no server should send. Ends the
  /// connection in good order when the handler returns.
  virtual bool WriteRaw(std::string_view bytes) = 0;
  /// The connection ends here: by RST, or orderly although more was announced.
  virtual void Reset() = 0;
  virtual void HangUp() = 0;
  /// Sleeps while the server lives and the client is there.
  virtual void Stall(std::chrono::milliseconds time) = 0;
};

/// A thread per connection; keep-alive; ends all of them when destroyed. The handler is called from any of
/// the threads.
class HttpServer {
 public:
  using Handler = std::function<void(ServedExchange&)>;

  /// Port 0: a free one. `address`: IPv4, of this machine.
  static std::unique_ptr<HttpServer> Start(Handler handler, int port = 0,
                                           const std::string& address = "127.0.0.1");
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  virtual std::string url() const = 0;  // "http://ADDRESS:PORT"
  virtual int connections() const = 0;  // taken so far
};

}  // namespace pipeline
