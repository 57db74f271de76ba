// A store over a fake bucket, for tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "storage/remote/gcs/gcs_store.h"
#include "storage/remote/http/http_client.h"
#include "tests/support/fake_gcs.h"
#include "tests/support/no_pause.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

/// Moves when somebody waits, and never else. Safe from any thread.
class WaitedClock final : public Clock, public Pause {
 public:
  std::chrono::nanoseconds Monotonic() const override { return std::chrono::nanoseconds(now_.load()); }
  std::int64_t UnixMillis() const override { return 1'770'000'000'000 + now_ / 1'000'000; }
  Status For(std::chrono::milliseconds time, std::stop_token) override {
    now_ += std::chrono::nanoseconds(time).count();
    return {};
  }

 private:
  std::atomic<std::int64_t> now_{0};
};

inline constexpr const char* kFakeBucket = "bucket";

/// Everything that a store of a bucket needs; `prefix` is "out".
struct GcsFixture {
  explicit GcsFixture(const FakeGcsOptions& options = {}) : fake(options) {
    fake.objects().SetBucket(kFakeBucket, {});
  }

  GcsSettings Settings() {
    GcsSettings settings;
    settings.endpoint = {fake.url(), true};
    settings.means.pause = &pause;
    return settings;
  }
  std::shared_ptr<GcsClient> Client(const GcsSettings& settings, std::shared_ptr<GcsAuth> auth = nullptr) {
    const HttpLimits limits{std::chrono::milliseconds(5'000), stall, 0};
    if (auth == nullptr)
      auth = std::make_shared<GcsAuth>(GcsCredentials{AnonymousAccess{}, "anonymous"}, GcsTokenTools{});
    return std::make_shared<GcsClient>(settings, NewHttpClient(limits), std::move(auth));
  }
  std::unique_ptr<Store> Open(const GcsSettings& settings, std::shared_ptr<GcsAuth> auth = nullptr) {
    GcsWriterOptions writing;
    writing.spool = spool / "s";
    writing.compose_above = compose_above;
    writing.part_bytes = part_bytes;
    return NewGcsStore(Client(settings, std::move(auth)), kFakeBucket, "out", writing);
  }
  std::unique_ptr<Store> Open() { return Open(Settings()); }

  /// Names of all objects in the bucket, with the prefix.
  std::vector<std::string> Everything() {
    std::vector<std::string> names;
    for (const FakeObject& object : fake.objects().List(kFakeBucket, {}).objects)
      names.push_back(object.name);
    return names;
  }
  std::string Stored(std::string_view name) { return fake.Get(kFakeBucket, "out/" + std::string(name)); }

  TempDir spool;
  NoPause pause;
  std::chrono::milliseconds stall{60'000};  // long, for machines that are busy
  std::uint64_t compose_above = std::uint64_t{1} << 40;
  std::uint64_t part_bytes = std::uint64_t{1} << 30;
  FakeGcs fake;
};

}  // namespace pipeline
