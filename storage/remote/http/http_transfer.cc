#include "storage/remote/http/http_transfer.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/remote/http/attended_request.h"
#include "storage/remote/http/http_address.h"
#include "storage/remote/http/http_text.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr long kReceiveBuffer = 512 << 10;  // of curl, for one read of the socket
// Bytes of a body that nobody has read; at this size curl is paused.
constexpr std::size_t kMaxWaiting = 512 << 10;
constexpr std::size_t kMaxRead = 1 << 20;       // between two checks of the stop token
constexpr std::size_t kMaxHeaders = 256 << 10;  // of one answer, with those of 1xx
// A body with fewer bytes left is read to its end, so that the connection is kept; it may take kDiscarding.
constexpr long kMaxDiscarded = 64 << 10;
constexpr std::chrono::milliseconds kDiscarding(100);
constexpr long kMaxConnections = 4;  // of one handle
constexpr int kSameRefusals = 3;     // of handshakes in a row; then the server refuses them for good

}  // namespace

class HttpSessions {
 public:
  HttpSessions() : share_(curl_share_init()) {
    curl_share_setopt(share_, CURLSHOPT_LOCKFUNC, &Lock);
    curl_share_setopt(share_, CURLSHOPT_UNLOCKFUNC, &Unlock);
    curl_share_setopt(share_, CURLSHOPT_USERDATA, this);
    curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
    curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  }
  ~HttpSessions() { curl_share_cleanup(share_); }
  HttpSessions(const HttpSessions&) = delete;
  HttpSessions& operator=(const HttpSessions&) = delete;

  CURLSH* share() const { return share_; }

 private:
  // libcurl locks in one call and unlocks in another.
  static void Lock(CURL*, curl_lock_data data, curl_lock_access, void* self) NO_THREAD_SAFETY_ANALYSIS {
    static_cast<HttpSessions*>(self)->mutexes_[data].lock();
  }
  static void Unlock(CURL*, curl_lock_data data, void* self) NO_THREAD_SAFETY_ANALYSIS {
    static_cast<HttpSessions*>(self)->mutexes_[data].unlock();
  }

  CURLSH* const share_;
  std::array<Mutex, CURL_LOCK_DATA_LAST> mutexes_;
};

std::shared_ptr<HttpSessions> NewHttpSessions() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);  // for the life of the process
  static_cast<void>(initialised);  // after a failure no handle can be made, and the first transfer reports it
  return std::make_shared<HttpSessions>();
}

namespace {

class Handle final : public HttpTransfer {
 public:
  Handle(std::shared_ptr<HttpSessions> sessions, const HttpLimits& limits, RateLimit& limit)
      : sessions_(std::move(sessions)),
        limits_(limits),
        limit_(limit),
        multi_(curl_multi_init()),
        easy_(curl_easy_init()) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxConnections);
    curl_easy_setopt(easy_, CURLOPT_SHARE, sessions_->share());
  }
  ~Handle() override {
    Handle::End();
    curl_easy_cleanup(easy_);
    curl_multi_cleanup(multi_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  Status Begin(const HttpRequest& request, const std::string& url, bool with_credentials,
               std::stop_token stop) override {
    End();
    ASSIGN_OR_RETURN(const std::string server, HttpServerOf(url));
    transfer_.emplace(request, url);
    transfer_->stop = std::move(stop);
    if (multi_ == nullptr || easy_ == nullptr) return Fail(Code::kInternal, "curl cannot be set up");
    SetOptions(server);
    RETURN_IF_ERROR(SetHeaders(with_credentials));
    if (curl_multi_add_handle(multi_, easy_) != CURLM_OK)
      return Fail(Code::kInternal, "curl cannot be set up");
    transfer_->is_added = true;
    transfer_->wakes.emplace(transfer_->stop, Wake{multi_});
    Transfer& transfer = *transfer_;
    // An answer may come while the body is still being sent; from status 300 on, curl stops sending.
    const auto is_answered = [&] {
      return transfer.has_headers &&
             (transfer.sent == transfer.body_bytes || transfer.response.status >= 300);
    };
    const Status driven = Drive(is_answered, true);
    transfer.request = nullptr;
    // The reader of the body gets a failure that comes after the headers.
    if (!driven.ok() && (!is_answered() || driven.code() == Code::kCancelled)) return driven;
    if (!is_answered()) return Fail(Code::kUnavailable, "the connection ended before the answer");
    transfer.response.url = url;
    return {};
  }

  const HttpResponse& response() const override { return transfer_->response; }

  Result<std::size_t> ReadBody(std::span<char> out) override {
    Transfer& transfer = *transfer_;
    if (transfer.stop.stop_requested()) return Fail(Code::kCancelled, "was stopped");
    const std::size_t waiting = transfer.waiting.size() - transfer.taken;
    if (waiting > 0) {
      const std::size_t count = std::min(waiting, out.size());
      std::memcpy(out.data(), transfer.waiting.data() + transfer.taken, count);
      transfer.taken += count;
      if (transfer.taken == transfer.waiting.size()) transfer.waiting.clear(), transfer.taken = 0;
      return count;
    }
    if (!transfer.failed.ok()) return transfer.failed;
    transfer.target = out.first(std::min(out.size(), kMaxRead));
    transfer.filled = 0;
    if (transfer.is_paused && !transfer.is_done) {
      transfer.is_paused = false;
      curl_easy_pause(easy_, CURLPAUSE_CONT);  // curl passes on the bytes that it kept at once
    }
    const Status driven = Drive([&] { return transfer.filled > 0; }, false);
    transfer.target = {};
    if (transfer.filled > 0) return transfer.filled;
    RETURN_IF_ERROR(driven);
    return 0;
  }

  void End() override {
    if (!transfer_) return;
    Transfer& transfer = *transfer_;
    transfer.wakes.reset();
    if (transfer.is_added) {
      if (transfer.has_headers && !transfer.is_done && transfer.failed.ok()) Discard();
      curl_multi_remove_handle(multi_, easy_);  // this closes the connection of an unfinished transfer
    }
    curl_easy_reset(easy_);  // its options point into the transfer, which ends here
    transfer_.reset();
  }

 private:
  struct Wake {
    CURLM* multi;
    void operator()() const { curl_multi_wakeup(multi); }
  };
  using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

  struct Transfer {
    Transfer(const HttpRequest& that, const std::string& its_url)
        : request(&that),
          stall(that.stall),
          url(its_url),
          body_bytes(that.file != nullptr ? that.body_bytes : that.body.size()) {}

    const HttpRequest* request;  // null after it was sent
    const std::chrono::milliseconds stall;
    const std::string url;
    const std::uint64_t body_bytes;
    std::stop_token stop;
    std::optional<std::stop_callback<Wake>> wakes;
    HeaderList header_list{nullptr, &curl_slist_free_all};
    std::array<char, CURL_ERROR_SIZE> reason{};
    bool is_added = false;
    Status failed;  // every later call returns it

    std::unique_ptr<ByteReader> source;  // of the file that is being sent
    std::uint64_t sent = 0;
    int begun = 0;  // number of connections on which the request was sent
    Status why_not_sent;

    HttpResponse response;
    std::size_t header_bytes = 0;
    bool has_headers = false;
    std::span<char> target;  // of the present call of ReadBody
    std::size_t filled = 0;
    std::string waiting;  // bytes of the body that came without a target, or did not fit into it
    std::size_t taken = 0;
    bool is_paused = false, is_discarding = false, is_done = false;
    std::size_t discarded = 0;
    bool has_moved = false;  // any byte came or went since the last check
  };

  template <class... Pieces>
  Status Fail(Code code, const Pieces&... why) {
    transfer_->failed = Status(code, StrCat(ShownUrl(transfer_->url), ": ", why...));
    return transfer_->failed;
  }

  void SetOptions(const std::string& server) {
    Transfer& transfer = *transfer_;
    const HttpRequest& request = *transfer.request;
    curl_easy_reset(easy_);
    const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
    set(CURLOPT_URL, transfer.url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_ERRORBUFFER, transfer.reason.data());
    // Many connections carry bulk data faster than many streams of one connection. The program ignores
    // SIGPIPE (cli/terminal/signals.cc), so curl need not touch signals.
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    if (!limits_.ca_file.empty()) set(CURLOPT_CAINFO, limits_.ca_file.c_str());
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    // The bytes stay as the server stores them, because offsets and checksums refer to these.
    set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_USERAGENT, "pipe");
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits_.connect.count()));
    if (!request.through_proxy || IsMetadataServer(server)) set(CURLOPT_PROXY, "");
    // Under a limit the pieces are small, so that bytes come evenly.
    const std::uint64_t rate = limit_.bytes_per_second();
    const long piece =
        rate == 0 ? kReceiveBuffer
                  : static_cast<long>(std::clamp<std::uint64_t>(rate / 20, 16 << 10, kReceiveBuffer));
    set(CURLOPT_BUFFERSIZE, piece);
    set(CURLOPT_UPLOAD_BUFFERSIZE, piece);

    set(CURLOPT_HEADERFUNCTION, &OnHeader);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &OnBody);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_PREREQFUNCTION, &OnRequest);
    set(CURLOPT_PREREQDATA, this);
    if (request.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (transfer.body_bytes > 0 || request.method == "POST" || request.method == "PUT" ||
               request.method == "PATCH") {
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(transfer.body_bytes));
      set(CURLOPT_READFUNCTION, &OnSend);
      set(CURLOPT_READDATA, this);
      set(CURLOPT_SEEKFUNCTION, &OnRewind);
      set(CURLOPT_SEEKDATA, this);
      set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    } else {
      set(CURLOPT_HTTPGET, 1L);
      if (request.method != "GET") set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
  }

  Status SetHeaders(bool with_credentials) {
    Transfer& transfer = *transfer_;
    if (!CanBeSent(transfer.request->method, "")) return Fail(Code::kInvalidArgument, "no such method");
    // An empty value removes the header: waiting for 100 costs a round trip.
    std::vector<std::string> lines = {"Expect:"};
    for (const HttpHeader& header : transfer.request->headers) {
      if (!CanBeSent(header.name, header.value))
        return Fail(Code::kInvalidArgument, "the header '", ShownUrl(header.name), "' cannot be sent");
      const std::string name = ParseHeaderLine(header.name + ":")->name;
      if (!with_credentials && (name == "authorization" || name == "cookie")) continue;
      lines.push_back(header.value.empty() ? header.name + ";" : StrCat(header.name, ": ", header.value));
    }
    for (const std::string& line : lines) {
      curl_slist* const longer = curl_slist_append(transfer.header_list.get(), line.c_str());
      if (longer == nullptr) return Fail(Code::kResourceExhausted, "no memory is left");
      static_cast<void>(transfer.header_list.release());
      transfer.header_list.reset(longer);
    }
    curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, transfer.header_list.get());
    return {};
  }

  /// Runs the transfer until `is_reached`, or to its end. `is_beginning`: headers that come byte by byte do
  /// not count as movement.
  template <class Predicate>
  Status Drive(Predicate is_reached, bool is_beginning) {
    Transfer& transfer = *transfer_;
    const std::chrono::milliseconds stall = transfer.stall.count() > 0 ? transfer.stall : limits_.stall;
    std::chrono::nanoseconds moved_at = SystemClock().Monotonic();
    bool is_awaited = false;  // the request was sent, and its answer has not come
    while (!is_reached() && !transfer.is_done) {
      if (transfer.stop.stop_requested()) return Fail(Code::kCancelled, "was stopped");
      if (const Status waited = limit_.Wait(transfer.stop); !waited.ok())
        return Fail(waited.code(), "was stopped");
      transfer.has_moved = false;
      Perform();
      if (is_reached() || transfer.is_done) break;
      const std::chrono::nanoseconds now = SystemClock().Monotonic();
      if (transfer.has_moved && !is_awaited) moved_at = now;
      is_awaited = is_beginning && transfer.begun > 0 && transfer.sent == transfer.body_bytes;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(moved_at + stall - now);
      if (left <= std::chrono::milliseconds(0))
        return Fail(Code::kUnavailable, "no ",
                    is_awaited && transfer.header_bytes > 0 ? "whole answer" : "byte", " came or went for ",
                    stall.count(), " ms");
      const auto pause = std::min<std::chrono::milliseconds>(left, std::chrono::seconds(10));
      curl_multi_poll(multi_, nullptr, 0, static_cast<int>(pause.count()), nullptr);
    }
    return transfer.failed;
  }

  void Perform() {
    int running = 0, left = 0;
    if (curl_multi_perform(multi_, &running) != CURLM_OK) {
      transfer_->is_done = true;
      static_cast<void>(Fail(Code::kInternal, "curl has lost the transfer"));
    }
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      transfer_->is_done = true;
      if (message->data.result != CURLE_OK) transfer_->failed = Explain(message->data.result);
    }
  }

  /// Reads the few bytes that are left, so that the connection can be kept.
  void Discard() {
    Transfer& transfer = *transfer_;
    curl_off_t length = -1, received = 0;
    curl_easy_getinfo(easy_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    curl_easy_getinfo(easy_, CURLINFO_SIZE_DOWNLOAD_T, &received);
    transfer.is_discarding = true;
    if (transfer.is_paused) curl_easy_pause(easy_, CURLPAUSE_CONT);
    Perform();
    if (length < 0 || length - received > kMaxDiscarded || transfer.stop.stop_requested()) return;
    const std::chrono::nanoseconds until = SystemClock().Monotonic() + kDiscarding;
    while (!transfer.is_done && SystemClock().Monotonic() < until) {
      curl_multi_poll(multi_, nullptr, 0, static_cast<int>(kDiscarding.count()), nullptr);
      Perform();
    }
  }

  Status Explain(CURLcode code) {
    Transfer& transfer = *transfer_;
    const std::string_view known = curl_easy_strerror(code);
    const std::string_view reason = transfer.reason[0] != '\0' ? transfer.reason.data() : known;
    if (!transfer.why_not_sent.ok()) return transfer.why_not_sent;
    if (transfer.header_bytes > kMaxHeaders || (code == CURLE_OUT_OF_MEMORY && !transfer.has_headers))
      return Fail(Code::kInvalidArgument, "the server's headers are larger than ", HumanBytes(kMaxHeaders));
    switch (code) {
      case CURLE_URL_MALFORMAT: return Fail(Code::kInvalidArgument, "cannot be an address");
      case CURLE_UNSUPPORTED_PROTOCOL:
        return Fail(Code::kInvalidArgument, "the server does not answer in HTTP; check host and port");
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CACERT_BADFILE:
        if (limits_.ca_file.empty() &&
            (code == CURLE_SSL_CACERT_BADFILE || curl_version_info(CURLVERSION_NOW)->cainfo == nullptr))
          return Fail(
              Code::kFailedPrecondition, "this machine has no certificates of authorities, by which it ",
              "could know a server; install ca-certificates, or name a file of them in SSL_CERT_FILE");
        return Fail(Code::kInvalidArgument, "the server's certificate does not hold: ", reason,
                    "; check the address, the clock and ca-certificates; SSL_CERT_FILE names others");
      // For these errors curl's message contains no URL, header or body.
      case CURLE_COULDNT_RESOLVE_HOST:
        return Fail(Code::kUnavailable, reason).With(std::make_shared<NoAddress>());
      case CURLE_SSL_CONNECT_ERROR:
        return Fail(Code::kUnavailable, reason).With(std::make_shared<SameAnswer>(kSameRefusals));
      case CURLE_COULDNT_CONNECT:
      case CURLE_OPERATION_TIMEDOUT:
      case CURLE_SEND_ERROR:
      case CURLE_RECV_ERROR:
      case CURLE_PARTIAL_FILE: return Fail(Code::kUnavailable, reason);
      case CURLE_OUT_OF_MEMORY: return Fail(Code::kResourceExhausted, known);
      case CURLE_FAILED_INIT:
      case CURLE_NOT_BUILT_IN:
      case CURLE_BAD_FUNCTION_ARGUMENT:
      case CURLE_UNKNOWN_OPTION: return Fail(Code::kInternal, known);
      default: return Fail(Code::kUnavailable, known);
    }
  }

  static Handle& Of(void* self) { return *static_cast<Handle*>(self); }

  static curl_socket_t OpenSocket(void*, curlsocktype, curl_sockaddr* address) {
    // Child processes do not inherit it.
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  /// curl calls this before each connection on which it sends the request. If a kept connection turns out to
  /// be closed, curl sends the request again, and cannot know whether the server has acted.
  static int OnRequest(void* self, char*, char*, int, int) {
    Transfer& transfer = *Of(self).transfer_;
    transfer.has_moved = true;
    if (++transfer.begun == 1 || transfer.request == nullptr || IsIdempotent(transfer.request->method))
      return CURL_PREREQFUNC_OK;
    transfer.why_not_sent = Of(self).Fail(
        Code::kUnavailable, "the connection was closed after the request was sent, before the answer");
    return CURL_PREREQFUNC_ABORT;
  }

  static std::size_t OnSend(char* out, std::size_t size, std::size_t count, void* self) {
    Transfer& transfer = *Of(self).transfer_;
    const std::uint64_t left = transfer.body_bytes - transfer.sent;
    std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, size * count));
    if (wanted == 0) return 0;
    // Nothing ends this pause: the server has refused the body.
    if (transfer.request == nullptr) return CURL_READFUNC_PAUSE;
    if (transfer.request->file == nullptr) {
      transfer.request->body.copy(out, wanted, static_cast<std::size_t>(transfer.sent));
    } else {
      Result<std::size_t> got = Of(self).ReadFile({out, wanted});
      if (!got.ok()) {
        transfer.why_not_sent = std::move(got).status();
        return CURL_READFUNC_ABORT;
      }
      wanted = *got;
    }
    transfer.sent += wanted;
    transfer.has_moved = true;
    Of(self).limit_.Take(wanted);
    return wanted;
  }

  Result<std::size_t> ReadFile(std::span<char> out) {
    Transfer& transfer = *transfer_;
    if (!transfer.source) {
      const std::uint64_t begin = transfer.request->body_offset + transfer.sent;
      ASSIGN_OR_RETURN(transfer.source, transfer.request->file->Open(begin, transfer.stop));
    }
    ASSIGN_OR_RETURN(const std::size_t got, transfer.source->Read(out));
    if (got == 0)
      return Status(Code::kDataLoss, StrCat(ShownUrl(transfer.url), ": the file to send ends ",
                                            transfer.body_bytes - transfer.sent, " bytes too early"));
    return got;
  }

  static int OnRewind(void* self, curl_off_t offset, int origin) {
    Transfer& transfer = *Of(self).transfer_;
    if (origin != SEEK_SET || offset < 0 || transfer.request == nullptr) return CURL_SEEKFUNC_FAIL;
    transfer.sent = static_cast<std::uint64_t>(offset);
    transfer.source.reset();
    return CURL_SEEKFUNC_OK;
  }

  static std::size_t OnHeader(char* bytes, std::size_t size, std::size_t count, void* self) {
    Transfer& transfer = *Of(self).transfer_;
    const std::string_view line(bytes, size * count);
    transfer.has_moved = true;
    if (transfer.has_headers) return line.size();  // trailers
    transfer.header_bytes += line.size();
    if (transfer.header_bytes > kMaxHeaders) return 0;
    std::vector<HttpHeader>& headers = transfer.response.headers;
    if (line.substr(0, 5) == "HTTP/") {
      headers.clear();  // those of an answer 1xx
    } else if (line == "\r\n" || line == "\n") {
      long status = 0;
      curl_easy_getinfo(Of(self).easy_, CURLINFO_RESPONSE_CODE, &status);
      transfer.response.status = static_cast<int>(status);
      transfer.has_headers = status >= 200;
    } else if (std::optional<HeaderLine> header = ParseHeaderLine(line)) {
      headers.push_back({std::move(header->name), std::move(header->value)});
    }
    return line.size();
  }

  static std::size_t OnBody(char* bytes, std::size_t size, std::size_t count, void* self) {
    Transfer& transfer = *Of(self).transfer_;
    const std::string_view piece(bytes, size * count);
    transfer.has_moved = true;
    if (transfer.is_discarding) {
      transfer.discarded += piece.size();
      return transfer.discarded <= kMaxWaiting + kMaxDiscarded ? piece.size() : 0;
    }
    const std::size_t direct = std::min(piece.size(), transfer.target.size() - transfer.filled);
    const std::string_view rest = piece.substr(direct);
    if (!rest.empty() && transfer.waiting.size() >= kMaxWaiting) {
      transfer.is_paused = true;  // curl passes the whole piece again
      return CURL_WRITEFUNC_PAUSE;
    }
    if (direct > 0) std::memcpy(transfer.target.data() + transfer.filled, piece.data(), direct);
    transfer.filled += direct;
    transfer.waiting += rest;
    Of(self).limit_.Take(piece.size());
    return piece.size();
  }

  const std::shared_ptr<HttpSessions> sessions_;
  const HttpLimits limits_;
  RateLimit& limit_;
  CURLM* const multi_;
  CURL* const easy_;
  std::optional<Transfer> transfer_;
};

}  // namespace

std::unique_ptr<HttpTransfer> NewHttpTransfer(std::shared_ptr<HttpSessions> sessions,
                                              const HttpLimits& limits, RateLimit& limit) {
  return std::make_unique<Handle>(std::move(sessions), limits, limit);
}

}  // namespace pipeline
