// fake_gcs: a bucket on loopback, until SIGTERM.
//   fake_gcs [--port N] [--directory DIR] [--bucket NAME]... [--seed N --rate 0.05] [--no-md5]
//   [--limit-writes] [--require-token] [--clock-ahead SECONDS]
// --require-token: any token but one that was signed by a clock five minutes from this server's.
// Prints {"url": "http://127.0.0.1:PORT"} as its first line, and what happened as its last one.
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/json.h"
#include "tests/support/fake_gcs.h"

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
  std::vector<std::string> buckets;
  unsigned long long seed = 0;
  double rate = 0.05;
  bool limit_writes = false, require_token = false;
  ClockAhead clock;
  for (int at = 1; at < argc; ++at) {
    const std::string flag = argv[at];
    if (flag == "--no-md5") {
      options.with_md5 = false;
    } else if (flag == "--limit-writes") {
      limit_writes = true;
    } else if (flag == "--require-token") {
      require_token = true;
    } else if (at + 1 == argc) {
      return Misuse("unknown flag, or a flag without its value");
    } else if (const char* value = argv[++at]; flag == "--port") {
      options.port = std::atoi(value);
    } else if (flag == "--directory") {
      options.directory = value;
    } else if (flag == "--bucket") {
      buckets.emplace_back(value);
    } else if (flag == "--seed") {
      seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--clock-ahead") {
      clock.ahead = std::atoll(value);
    } else if (flag == "--rate") {
      rate = std::strtod(value, nullptr);
    } else {
      return Misuse("unknown flag");
    }
  }
  options.clock = &clock;
  options.with_dates = true;
  pipeline::FakeGcs fake(options);
  if (require_token)
    fake.RequireToken([&clock](std::string_view token) { return IsGood(token, clock.UnixMillis() / 1000); });
  for (const std::string& bucket : buckets) fake.objects().SetBucket(bucket, {});
  fake.objects().LimitWrites(limit_writes);
  if (seed != 0) fake.faults().Plan(seed, rate);
  std::printf("{\"url\":\"%s\"}\n", fake.url().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  std::printf("%s\n", fake.Counts().Dump().c_str());
  return 0;
}
