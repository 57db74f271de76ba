// Google Cloud Storage's JSON API as a server on loopback: as strict as the real one where emulators are
// not, and breaking in the ways that tests/support/fake_gcs_faults.h names.
//
// Beside the API it answers
//   POST /retry_test, GET and DELETE /retry_test/ID    as Google's storage testbench
//   GET  /fake/counts    {"scenarios": {"A": 3, …}, "overwritten": 0, "open_sessions": 0, "requests": 99,
//                         "buckets": {"b": {"objects": 1, "made": 2, "most_made": 1, "overwritten": 0}},
//                         "operations": {"storage.objects.list": 2, …}, "read_bytes": 4096, …}
//   GET  /fake/secrets   {"tokens": [that were sent], "sessions": [ids that were given]}
//   POST /fake/faults    {"storage.objects.read": ["return-503", …], …}: the next requests are struck
//   POST /fake/hold?after=N   waits until N more moments have come (fake_moments.h); {"held": true}, or false
//   GET  /fake/objects?bucket=B   {"name": {"size": 1, "crc32c": "…", "made": 1}, …}: no fault strikes that
//   GET  /fake/content?bucket=B&name=N   the bytes, or "absent": no fault strikes that
//   POST /fake/objects?bucket=B&name=N&encoding=E   somebody has uploaded the body
//   POST /fake/release        where this was said before: everything goes on
//   POST /storage/v1/b   with "denied": a bucket with the location, softDeletePolicy, retentionPolicy and
//   billing
//                        that it names, in the place of one that is there; denied operations are answered
//                        with 403
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tests/support/fake_gcs_call.h"

namespace pipeline {

struct FakeGcsOptions {
  int port = 0;                       // 0: a free one
  std::string address = "127.0.0.1";  // of this machine
  FakeKeeping keeping = {};
  const Clock* clock = &SystemClock();  // outlives the server
  bool with_dates = false;              // answers bear a Date, by that clock
};

/// Buckets are made by SetBucket, or as real ones are. Safe from any thread.
class FakeGcs {
 public:
  explicit FakeGcs(const FakeGcsOptions& options = {});
  ~FakeGcs();

  const std::string& url() const { return world_.url; }
  FakeGcsObjects& objects() { return world_.objects; }
  FakeGcsFaults& faults() { return world_.faults; }
  FakeGcsUploads& uploads() { return world_.uploads; }
  const FakeMoments& moments() const { return world_.moments; }

  /// Puts an object there, as if somebody had uploaded it; its generation.
  std::uint64_t Put(const std::string& bucket, const std::string& name, std::string_view bytes,
                    const Json& given = Json(Json::Object{}));
  /// The bytes of an object; "absent" where there is none.
  std::string Get(const std::string& bucket, const std::string& name) const;

  /// From now on a request needs a token that `accepts` says yes to; others are answered with 401.
  void RequireToken(std::function<bool(std::string_view token)> accepts);
  /// A rewrite moves so many bytes in one call.
  void LimitRewrites(std::uint64_t bytes) { world_.rewrite_bytes = bytes; }

  /// Requests answered so far, by operation: "storage.objects.insert.chunk". A batch is one, and its parts
  /// are none.
  int requests(const std::string& operation) const;
  /// Every value of a header that any request bore, for tests of what is sent.
  std::vector<std::string> HeadersSent(const std::string& lower_case_name) const;
  Json Counts() const;

 private:
  void Handle(ServedExchange& exchange);
  /// Answers a request of the API, which may be a part of a batch.
  void HandleRequest(FakeGcsCall& call);
  void HandleBatch(FakeGcsCall& call);
  void HandleApi(FakeGcsCall& call);
  bool Admit(FakeGcsCall& call);
  void HandleControl(const FakeGcsCall& call);
  void HandleRetryTest(const FakeGcsCall& call);
  void HandleBuckets(const FakeGcsCall& call, std::string_view rest);

  FakeGcsWorld world_;
  mutable std::mutex mutex_;  // for what follows
  std::function<bool(std::string_view)> accepts_;
  std::map<std::string, int> requests_;
  std::vector<HttpHeader> headers_;
  std::set<std::string, std::less<>> tokens_;  // that were sent
  std::unique_ptr<HttpServer> server_;         // last: its threads use the others
};

}  // namespace pipeline
