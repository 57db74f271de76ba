#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <thread>

#include "base/file_descriptor.h"
#include "base/str.h"
#include "storage/percent.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxHead = 64 << 10;    // request line and headers
constexpr std::size_t kMaxDrain = 16 << 20;   // of a body that the handler left unread
constexpr std::size_t kMaxWhole = 256 << 20;  // of ReadWholeBody
constexpr auto kLinger = std::chrono::seconds(5);

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// A name or a value of a query; as it stands where it is not encoded rightly.
std::string QueryText(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '+', ' ');
  return PercentDecode(plain).value_or(plain);
}

std::string Hex(std::size_t number) {
  std::array<char, 20> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr};
}

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::abort();
}

/// One connection: its bytes and the request being answered. Used by its own thread, but for Shut.
class Connection final : public ServedExchange {
 public:
  Connection(int socket, int end_of_server) : socket_(socket), end_(end_of_server) {}

  void Serve(const HttpServer::Handler& handler) {
    while (ReadHead()) {
      handler(*this);
      if (!Finish()) break;
    }
    HangUp();
    const std::scoped_lock lock(mutex_);
    socket_ = FileDescriptor();
    is_done_ = true;
  }

  /// From any thread: what the connection waits for is over.
  void Shut() {
    const std::scoped_lock lock(mutex_);
    if (socket_.is_open()) shutdown(socket_.get(), SHUT_RDWR);
  }
  bool is_done() const { return is_done_; }

  const ServedRequest& request() const override { return request_; }

  bool ReadBody(std::span<char> out, std::size_t& got) override {
    got = 0;
    if (is_ended_) return false;
    if (expects_continue_) {
      expects_continue_ = false;
      if (!Send("HTTP/1.1 100 Continue\r\n\r\n")) return false;
    }
    if (is_chunked_ && left_ == 0 && !NextChunk()) return false;
    if (left_ == 0 || out.empty()) return true;
    if (buffer_.empty()) {  // without a detour
      const ssize_t received =
          Receive(out.first(static_cast<std::size_t>(std::min<std::uint64_t>(left_, out.size()))));
      if (received <= 0) return false;
      got = static_cast<std::size_t>(received);
      left_ -= got;
      return true;
    }
    got = static_cast<std::size_t>(std::min<std::uint64_t>({left_, out.size(), buffer_.size()}));
    buffer_.copy(out.data(), got);
    buffer_.erase(0, got);
    left_ -= got;
    return true;
  }

  bool ReadWholeBody(std::string& body) override {
    body.clear();
    std::string piece(256 << 10, '\0');
    for (std::size_t got = 1; body.size() < kMaxWhole;) {
      if (!ReadBody(piece, got)) return false;
      if (got == 0) return true;
      body.append(piece, 0, got);
    }
    return false;
  }

  bool Begin(int status, const std::vector<HttpHeader>& headers,
             std::optional<std::uint64_t> length) override {
    std::string head = StrCat("HTTP/1.1 ", status, " Said So\r\n");
    for (const HttpHeader& header : headers) {
      head += StrCat(header.name, ": ", header.value, "\r\n");
      if (Lower(header.name) == "connection" && Lower(header.value) == "close") is_kept_ = false;
    }
    const bool is_bare = status < 200 || status == 204 || status == 304;  // has no body
    if (!is_bare)
      head += length ? StrCat("Content-Length: ", *length, "\r\n") : "Transfer-Encoding: chunked\r\n";
    if (status >= 200) {
      has_begun_ = true;
      sends_body_ = !is_bare && request_.method != "HEAD";
      sends_chunks_ = sends_body_ && !length;
      announced_ = sends_body_ ? length.value_or(0) : 0;
    }
    return Send(head + "\r\n");
  }

  bool Write(std::string_view bytes) override {
    if (!sends_body_ || bytes.empty()) return !is_ended_;
    if (sends_chunks_) return Send(StrCat(Hex(bytes.size()), "\r\n", bytes, "\r\n"));
    written_ += bytes.size();
    return Send(bytes);
  }

  bool Answer(int status, const std::vector<HttpHeader>& headers, std::string_view body) override {
    return Begin(status, headers, body.size()) && Write(body);
  }

  bool WriteRaw(std::string_view bytes) override {
    is_kept_ = false;
    has_begun_ = true;
    sends_chunks_ = false;
    return Send(bytes);
  }

  void Reset() override {
    const std::scoped_lock lock(mutex_);
    if (!socket_.is_open()) return;
    const linger at_once = {1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket_ = FileDescriptor();
    is_ended_ = true;
  }

  void HangUp() override {
    if (is_ended_) return;
    is_ended_ = true;
    shutdown(socket_.get(), SHUT_WR);
    // What the client still sends is taken, else the kernel answers it with RST and an answer on its way is
    // lost.
    std::string sink(64 << 10, '\0');
    const auto until = std::chrono::steady_clock::now() + kLinger;
    while (std::chrono::steady_clock::now() < until && Wait(POLLIN, kLinger) &&
           recv(socket_.get(), sink.data(), sink.size(), 0) > 0) {
    }
  }

  void Stall(std::chrono::milliseconds time) override {
    if (!is_ended_) Wait(POLLRDHUP, time);
  }

 private:
  /// False: the time is over, or the server ends.
  bool Wait(short events, std::chrono::milliseconds time) {
    std::array<pollfd, 2> sockets = {{{socket_.get(), events, 0}, {end_, POLLIN, 0}}};
    const int ready = poll(sockets.data(), sockets.size(), static_cast<int>(time.count()));
    return ready > 0 && sockets[1].revents == 0;
  }

  /// 0: its end; negative: it is broken.
  ssize_t Receive(std::span<char> out) {
    ssize_t got = -1;
    do {
      got = recv(socket_.get(), out.data(), out.size(), 0);
    } while (got < 0 && errno == EINTR);
    return got;
  }

  bool Fill() {
    std::array<char, 64 << 10> bytes;
    const ssize_t got = Receive(bytes);
    if (got > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  bool Send(std::string_view bytes) {
    while (!is_ended_ && !bytes.empty()) {
      const ssize_t sent = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return !is_ended_;
  }

  /// The next line without its end; false: it is too long, or the client is gone.
  bool ReadLine(std::string& line) {
    std::size_t end;
    while ((end = buffer_.find('\n')) == std::string::npos)
      if (buffer_.size() > kMaxHead || !Fill()) return false;
    line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
  }

  bool ReadHead() {
    request_ = {};
    left_ = 0;
    is_chunked_ = expects_continue_ = has_begun_ = sends_body_ = sends_chunks_ = false;
    is_kept_ = true;
    announced_ = written_ = 0;
    std::string line;
    if (!ReadLine(line)) return false;
    const std::size_t first = line.find(' '), last = line.rfind(' ');
    if (first == std::string::npos || last == first) return Refuse();
    request_.method = line.substr(0, first);
    const std::string target = line.substr(first + 1, last - first - 1);
    const std::size_t mark = target.find('?');
    request_.path = target.substr(0, mark);
    if (mark != std::string::npos) request_.query = target.substr(mark + 1);
    for (std::size_t bytes = line.size(); ReadLine(line);) {
      if (line.empty()) return TakeFraming();
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos || (bytes += line.size()) > kMaxHead) return Refuse();
      request_.headers.push_back(
          {Lower(line.substr(0, colon)), std::string(Trim(std::string_view(line).substr(colon + 1)))});
    }
    return false;
  }

  bool TakeFraming() {
    const std::string_view length = request_.Header("content-length");
    const auto read = std::from_chars(length.data(), length.data() + length.size(), left_);
    if (!length.empty() && (read.ec != std::errc() || read.ptr != length.data() + length.size()))
      return Refuse();
    is_chunked_ = Lower(request_.Header("transfer-encoding")) == "chunked";
    if (is_chunked_) left_ = 0;
    is_first_chunk_ = true;
    expects_continue_ = Lower(request_.Header("expect")) == "100-continue";
    if (Lower(request_.Header("connection")) == "close") is_kept_ = false;
    return true;
  }

  bool Refuse() {
    Send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return false;
  }

  /// Leaves how many bytes the next chunk has; none after the last.
  bool NextChunk() {
    std::string line;
    if (!is_first_chunk_ && (!ReadLine(line) || !line.empty())) return false;
    is_first_chunk_ = false;
    if (!ReadLine(line)) return false;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), left_, 16);
    if (read.ec != std::errc()) return false;
    if (left_ > 0) return true;
    while (ReadLine(line))  // trailers
      if (line.empty()) return !(is_chunked_ = false);
    return false;
  }

  /// After the handler. Whether another request can follow.
  bool Finish() {
    if (is_ended_ || !has_begun_) return false;
    if (sends_chunks_ && !Send("0\r\n\r\n")) return false;
    if (!is_kept_ || written_ < announced_) return false;
    expects_continue_ = false;  // not asked for it, the client may send its body or not: there it ends
    if (request_.Header("expect").empty()) {
      std::string piece(64 << 10, '\0');
      for (std::size_t drained = 0, got = 1; got > 0; drained += got)
        if (drained > kMaxDrain || !ReadBody(piece, got)) return false;
    }
    return left_ == 0 && !is_chunked_;
  }

  std::mutex mutex_;  // closing the socket against Shut
  FileDescriptor socket_;
  const int end_;
  std::atomic<bool> is_done_ = false;
  std::string buffer_;  // received, not yet taken
  ServedRequest request_;
  std::uint64_t left_ = 0;  // of the request's body, or of its chunk
  std::uint64_t announced_ = 0, written_ = 0;
  bool is_chunked_ = false, is_first_chunk_ = true, expects_continue_ = false;
  bool has_begun_ = false, sends_body_ = false, sends_chunks_ = false, is_kept_ = true, is_ended_ = false;
};

class Server final : public HttpServer {
 public:
  Server(Handler handler, int port, std::string own)
      : handler_(std::move(handler)), address_(std::move(own)) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) Die("pipe");
    end_read_ = FileDescriptor(ends[0]);
    end_write_ = FileDescriptor(ends[1]);
    listener_ = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address_.c_str(), &address.sin_addr);
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_.get(), plain, size) != 0 || listen(listener_.get(), 512) != 0 ||
        getsockname(listener_.get(), plain, &size) != 0)
      Die("listen");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }

  ~Server() override {
    { const FileDescriptor closed = std::move(end_write_); }  // wakes all that wait
    acceptor_.join();
    for (Served& served : served_) {
      served.connection.Shut();
      served.thread.join();
    }
  }

  int port() const override { return port_; }
  std::string url() const override { return StrCat("http://", address_, ":", port_); }
  int connections() const override { return connections_; }

 private:
  struct Served {
    Served(int socket, int end) : connection(socket, end) {}
    Connection connection;
    std::thread thread;
  };

  void Accept() {
    for (;;) {
      std::array<pollfd, 2> sockets = {{{listener_.get(), POLLIN, 0}, {end_read_.get(), POLLIN, 0}}};
      if (poll(sockets.data(), sockets.size(), -1) < 0 && errno != EINTR) Die("poll");
      if (sockets[1].revents != 0) return;
      const int socket = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      ++connections_;
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      served_.remove_if([](Served& served) {
        if (!served.connection.is_done()) return false;
        served.thread.join();
        return true;
      });
      Served& served = served_.emplace_back(socket, end_read_.get());
      served.thread = std::thread([this, &served] { served.connection.Serve(handler_); });
    }
  }

  const Handler handler_;
  const std::string address_;
  FileDescriptor listener_, end_read_, end_write_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::list<Served> served_;  // the acceptor's, then the destructor's
  std::thread acceptor_;
};

}  // namespace

std::string_view ServedRequest::Header(std::string_view lower_case_name) const {
  for (const HttpHeader& header : headers)
    if (header.name == lower_case_name) return header.value;
  return {};
}

std::optional<std::string> ServedRequest::Argument(std::string_view name) const {
  for (std::string_view left = query; !left.empty();) {
    const std::string_view pair = left.substr(0, left.find('&'));
    left.remove_prefix(std::min(left.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (QueryText(pair.substr(0, equals)) == name)
      return QueryText(pair.substr(std::min(equals + 1, pair.size())));
  }
  return std::nullopt;
}

std::unique_ptr<HttpServer> HttpServer::Start(Handler handler, int port, const std::string& address) {
  return std::make_unique<Server>(std::move(handler), port, address);
}

}  // namespace pipeline
