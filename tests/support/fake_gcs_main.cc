// fake_gcs: a bucket on loopback or at an address of this machine, until SIGTERM.
//   fake_gcs [--address A.B.C.D] [--port N] [--directory DIR] [--discard] [--no-md5]
//            [--bucket NAME]... [--shared-bucket NAME]... [--payer-bucket NAME]...
//            [--seed N --rate 0.05] [--limit-writes] [--rewrite-bytes N] [--tokens] [--require-token]
//            [--clock-ahead SECONDS]
// Prints {"url": "http://ADDRESS:PORT"} as its first line, and what happened as its last one. A random plan
// replaces objects of a shared bucket. --tokens: requests need tokens of the server "metadata" in the first
// line, for GCE_METADATA_HOST, which has its days under a plan. --require-token: they need any token but one
// that was signed by a clock five minutes from this server's.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/json.h"
#include "tests/support/fake_gcs.h"
#include "tests/support/fake_tokens.h"

namespace {

/// The machine's, but so far ahead.
class ClockAhead final : public pipeline::Clock {
 public:
  std::chrono::nanoseconds Monotonic() const override { return pipeline::SystemClock().Monotonic(); }
  std::int64_t UnixMillis() const override { return pipeline::SystemClock().UnixMillis() + ahead * 1000; }
  std::int64_t ahead = 0;  // seconds
};

/// Whether a token is good at that time: any is that is no JSON Web Token.
bool IsGood(std::string_view token, std::int64_t now) {
  const std::size_t first = token.find('.'), last = token.rfind('.');
  if (token.empty() || first == last) return !token.empty();
  std::string claims(token.substr(first + 1, last - first - 1));
  std::replace(claims.begin(), claims.end(), '-', '+');
  std::replace(claims.begin(), claims.end(), '_', '/');
  claims.append((4 - claims.size() % 4) % 4, '=');
  const auto text = pipeline::FromBase64(claims);
  const auto json = pipeline::Json::Parse(text ? *text : std::string());
  if (!json.ok()) return false;
  return std::abs((*json)["iat"].AsInt() - now) < 300 && (*json)["exp"].AsInt() > now;
}

int Misuse(const char* what) {
  std::fprintf(stderr, "fake_gcs: %s\n", what);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before there are threads, which inherit it

  pipeline::FakeGcsOptions options;
  std::vector<std::pair<std::string, pipeline::FakeBucket>> buckets;
  unsigned long long seed = 0, rewrite_bytes = 0;
  double rate = 0.05;
  bool limit_writes = false, with_tokens = false, require_token = false;
  ClockAhead clock;
  for (int at = 1; at < argc; ++at) {
    const std::string flag = argv[at];
    if (flag == "--no-md5") {
      options.keeping.with_md5 = false;
    } else if (flag == "--discard") {
      options.keeping.discards = true;
    } else if (flag == "--limit-writes") {
      limit_writes = true;
    } else if (flag == "--require-token") {
      require_token = true;
    } else if (flag == "--tokens") {
      with_tokens = true;
    } else if (at + 1 == argc) {
      return Misuse("unknown flag, or a flag without its value");
    } else if (const char* value = argv[++at]; flag == "--port") {
      options.port = std::atoi(value);
    } else if (flag == "--address") {
      options.address = value;
    } else if (flag == "--directory") {
      options.keeping.directory = value;
    } else if (flag == "--bucket" || flag == "--shared-bucket" || flag == "--payer-bucket") {
      buckets.emplace_back(value, pipeline::FakeBucket());
      buckets.back().second.others_write = flag == "--shared-bucket";
      buckets.back().second.requester_pays = flag == "--payer-bucket";
    } else if (flag == "--seed") {
      seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--clock-ahead") {
      clock.ahead = std::atoll(value);
    } else if (flag == "--rate") {
      rate = std::strtod(value, nullptr);
    } else if (flag == "--rewrite-bytes") {
      rewrite_bytes = std::strtoull(value, nullptr, 10);
    } else {
      return Misuse("unknown flag");
    }
  }
  options.clock = &clock;
  options.with_dates = true;
  pipeline::FakeTokens tokens;
  pipeline::FakeGcs fake(options);
  if (require_token)
    fake.RequireToken([&clock](std::string_view token) { return IsGood(token, clock.UnixMillis() / 1000); });
  for (const auto& [name, bucket] : buckets) fake.objects().SetBucket(name, bucket);
  fake.objects().LimitWrites(limit_writes);
  if (rewrite_bytes != 0) fake.LimitRewrites(rewrite_bytes);
  if (seed != 0) fake.faults().Plan(seed, rate);
  std::string metadata;
  if (with_tokens) {
    tokens.SetLifetime(std::chrono::seconds(4));
    if (seed != 0) tokens.Plan(seed, 0.3, [&fake] { fake.faults().Count("S"); });
    fake.RequireToken([&](std::string_view token) {
      const bool good = tokens.IsGood(token);
      if (!good && tokens.Knows(token)) fake.faults().Count("E");
      return good;
    });
    metadata = ",\"metadata\":\"" + tokens.host() + "\"";
  }
  std::printf("{\"url\":\"%s\"%s}\n", fake.url().c_str(), metadata.c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  std::printf("%s\n", fake.Counts().Dump().c_str());
  tokens.Plan(0, 0, {});  // it outlives the fake
  return 0;
}
