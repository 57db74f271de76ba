// Everybody who hands out access tokens, as one server on loopback: Google's OAuth server, its token
// exchange, its impersonation, and a machine's metadata server.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

#include "storage/remote/http/http_client.h"
#include "tests/support/http_server.h"

namespace pipeline {

/// Tokens are "fake-KIND-N". Kinds: "oauth", "sts", "impersonate", "metadata", "subject" (a machine's own
/// token, for the exchange). Safe from any thread.
class FakeTokens {
 public:
  FakeTokens();
  ~FakeTokens();

  std::string url() const { return server_->url(); }
  /// "127.0.0.1:PORT", for GCE_METADATA_HOST.
  std::string host() const { return server_->url().substr(7); }
  /// A client for which this server is https://*.googleapis.com and http://metadata.google.internal.
  std::shared_ptr<HttpClient> Client();

  /// The next `times` requests of this kind are answered with `status`, whose body says `error`.
  void Fail(const std::string& kind, int status, int times, const std::string& error = "invalid_grant");
  /// Tokens last so long from now on, by their word.
  void SetLifetime(std::chrono::seconds lifetime);
  /// The metadata server forgets to say that it is one.
  void ForgetFlavor();
  /// From now on the metadata server has its days: with this probability a request for a token finds it slow,
  /// without an account, without its flavor or with a token of a second, in turns. `struck` is called each
  /// time.
  void Plan(std::uint64_t seed, double rate, std::function<void()> struck);
  /// Answers of this kind wait for Release.
  void Hold(const std::string& kind);
  void Release();

  int requests(const std::string& kind) const;
  /// The body of the last request of this kind, or its headers as lines.
  std::string last_body(const std::string& kind) const;
  std::string last_authorization(const std::string& kind) const;
  /// Whether a token was handed out by this server, and whether it has not ended yet.
  bool Knows(std::string_view token) const;
  bool IsGood(std::string_view token) const;

 private:
  class Router;
  struct Failure {
    int status = 0;
    int times = 0;
    std::string error;
  };
  /// A day of the metadata server.
  enum class Day : std::uint8_t { kGood, kSlow, kNoAccount, kNoFlavor, kShort };
  void Handle(ServedExchange& exchange);
  Day NextDay();

  mutable std::mutex mutex_;  // for what follows
  std::map<std::string, Failure> failures_;
  std::map<std::string, int> requests_;
  std::map<std::string, std::string> bodies_;
  std::map<std::string, std::string> authorizations_;
  std::map<std::string, std::chrono::nanoseconds, std::less<>> given_;  // and when they end
  std::chrono::seconds lifetime_{3600};
  bool flavor_ = true;
  std::mt19937_64 random_;
  double rate_ = 0;
  std::size_t strikes_ = 0;
  std::function<void()> struck_;
  std::string held_;
  std::condition_variable released_;
  std::unique_ptr<HttpServer> server_;  // last: its threads use the others
};

}  // namespace pipeline
