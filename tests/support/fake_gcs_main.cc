// fake_gcs: a bucket on loopback, until SIGTERM.
//   fake_gcs [--port N] [--directory DIR] [--bucket NAME]... [--seed N --rate 0.05] [--no-md5]
//   [--limit-writes]
// Prints {"url": "http://127.0.0.1:PORT"} as its first line, and what happened as its last one.
#include <signal.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/fake_gcs.h"

namespace {

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
  bool limit_writes = false;
  for (int at = 1; at < argc; ++at) {
    const std::string flag = argv[at];
    if (flag == "--no-md5") {
      options.with_md5 = false;
    } else if (flag == "--limit-writes") {
      limit_writes = true;
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
    } else if (flag == "--rate") {
      rate = std::strtod(value, nullptr);
    } else {
      return Misuse("unknown flag");
    }
  }
  pipeline::FakeGcs fake(options);
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
