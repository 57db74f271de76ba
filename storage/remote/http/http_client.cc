#include "storage/remote/http/http_client.h"

#include <algorithm>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/remote/http/attended_request.h"
#include "storage/remote/http/environment.h"
#include "storage/remote/http/http_address.h"
#include "storage/remote/http/http_transfer.h"
#include "storage/remote/http/rate_limit.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::size_t kMaxIdle = 64;  // idle transfers, each with its own connections

/// The idle transfers of a client. Safe from any thread.
class Pool {
 public:
  explicit Pool(const HttpLimits& limits)
      : limits_(limits),
        rate_(limits.bytes_per_second, SystemClock(), SystemPause()),
        sessions_(NewHttpSessions()) {}

  /// Returns the idle transfer that spoke to `server` last, or a new one.
  std::unique_ptr<HttpTransfer> Take(std::string_view server) {
    const Lock lock(mutex_);
    const auto found =
        std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) { return idle.server == server; });
    if (found == idle_.rend()) return NewHttpTransfer(sessions_, limits_, rate_);
    std::unique_ptr<HttpTransfer> taken = std::move(found->transfer);
    idle_.erase(std::next(found).base());
    return taken;
  }

  void GiveBack(std::string server, std::unique_ptr<HttpTransfer> transfer) {
    transfer->End();
    std::unique_ptr<HttpTransfer> oldest;  // its connections are closed after the lock is released
    const Lock lock(mutex_);
    idle_.push_back({std::move(server), std::move(transfer)});
    if (idle_.size() <= kMaxIdle) return;
    oldest = std::move(idle_.front().transfer);
    idle_.erase(idle_.begin());
  }

 private:
  struct Idle {
    std::string server;
    std::unique_ptr<HttpTransfer> transfer;
  };

  const HttpLimits limits_;
  RateLimit rate_;
  const std::shared_ptr<HttpSessions> sessions_;  // shared with the transfers
  Mutex mutex_;
  std::vector<Idle> idle_ GUARDED_BY(mutex_);  // the last used one is at the end
};

/// Borrows a transfer; its end returns it to the pool. The pool is shared by the client and its exchanges,
/// which may outlive the client.
std::shared_ptr<HttpTransfer> Borrow(const std::shared_ptr<Pool>& pool, const std::string& server) {
  return {pool->Take(server).release(), [pool, server](HttpTransfer* borrowed) {
            pool->GiveBack(server, std::unique_ptr<HttpTransfer>(borrowed));
          }};
}

class Exchange final : public HttpExchange {
 public:
  Exchange(std::unique_ptr<AttendedRequest> attended, std::shared_ptr<HttpTransfer> transfer)
      : attended_(std::move(attended)), transfer_(std::move(transfer)) {}
  const HttpResponse& response() const override { return transfer_->response(); }
  Result<std::size_t> Read(std::span<char> out) override { return transfer_->ReadBody(out); }

 private:
  const std::unique_ptr<AttendedRequest> attended_;  // owns the stop token of the transfer
  const std::shared_ptr<HttpTransfer> transfer_;
};

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Returns the target of a redirect. kInvalidArgument: the redirect must not be followed.
Result<std::string> FollowedFrom(const std::string& url, std::string_view location) {
  const std::optional<std::string> next = ResolveLocation(url, location);
  const std::string shown = ShownUrl(url);
  if (!next) return Status(Code::kInvalidArgument, StrCat(shown, ": redirects to an invalid address"));
  const bool is_web = next->starts_with("https://") || next->starts_with("http://");
  const bool is_lowered = url.starts_with("https://") && !next->starts_with("https://");
  if (is_web && !is_lowered) return *next;
  return Status(Code::kInvalidArgument,
                StrCat(shown, ": redirects to ", ShownUrl(*next), ", which is not followed: ",
                       is_web ? "it is not encrypted" : "it is not http or https"));
}

class Client final : public HttpClient {
 public:
  explicit Client(const HttpLimits& limits) : pool_(std::make_shared<Pool>(limits)) {}

  Result<std::unique_ptr<HttpExchange>> Start(const HttpRequest& request, std::stop_token stop) override {
    ASSIGN_OR_RETURN(const std::string first, HttpServerOf(request.url));
    const bool follows = request.redirects > 0 && (request.method == "GET" || request.method == "HEAD");
    auto attended = std::make_unique<AttendedRequest>(std::move(stop));
    std::string url = request.url;
    for (int left = request.redirects;; --left) {
      ASSIGN_OR_RETURN(const std::string server, HttpServerOf(url));
      std::shared_ptr<HttpTransfer> transfer = Borrow(pool_, server);
      RETURN_IF_ERROR(attended->Await(server, ShownUrl(url), [&] {
        return transfer->Begin(request, url, server == first, attended->stop());
      }));
      const HttpResponse& response = transfer->response();
      const std::optional<std::string_view> location = response.Header("location");
      if (!follows || !IsRedirect(response.status) || !location)
        return std::make_unique<Exchange>(std::move(attended), std::move(transfer));
      if (left == 0)
        return Status(Code::kInvalidArgument,
                      StrCat(ShownUrl(request.url), ": redirects more than ", request.redirects,
                             " times, at last from ", ShownUrl(url)));
      ASSIGN_OR_RETURN(url, FollowedFrom(url, *location));
    }
  }

 private:
  const std::shared_ptr<Pool> pool_;  // shared with the exchanges
};

}  // namespace

std::optional<std::string_view> HttpResponse::Header(std::string_view lower_case_name) const {
  for (const HttpHeader& header : headers)
    if (header.name == lower_case_name) return header.value;
  return std::nullopt;
}

std::unique_ptr<HttpClient> NewHttpClient(const HttpLimits& limits) {
  return std::make_unique<Client>(limits);
}

std::shared_ptr<HttpClient> SharedHttpClient() {
  static const std::shared_ptr<HttpClient> client =
      NewHttpClient({.ca_file = FindCaFile(ProcessEnvironment())});
  return client;
}

Result<HttpAnswer> Fetch(HttpClient& client, const HttpRequest& request, std::uint64_t max_bytes,
                         std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<HttpExchange> exchange, client.Start(request, std::move(stop)));
  HttpAnswer answer{exchange->response(), {}};
  std::string piece(64 << 10, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, exchange->Read(piece));
    if (got == 0) return answer;
    if (answer.body.size() + got > max_bytes)
      return Status(Code::kResourceExhausted,
                    StrCat(ShownUrl(request.url), ": answers with more than ", HumanBytes(max_bytes),
                           ", which is the most that is expected"));
    answer.body.append(piece, 0, got);
  }
}

}  // namespace pipeline
