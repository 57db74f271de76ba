// The buckets of a fake Google Cloud Storage: objects, their generations, and what must hold to change them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "tests/support/fake_content.h"
#include "tests/support/http_server.h"

namespace pipeline {

struct FakeBucket {
  std::string location = "US-CENTRAL1";
  std::string storage_class = "STANDARD";
  std::int64_t soft_delete_seconds = 0;
  std::int64_t retention_seconds = 0;
  bool requester_pays = false;
  bool forbidden = false;                // every request to it is answered with 403
  std::vector<std::string> denied = {};  // operations, or their beginnings, that are
  bool others_write = false;             // a random plan may replace its objects
};

struct FakeObject {
  std::string bucket;
  std::string name;
  std::uint64_t generation = 0;
  std::uint64_t metageneration = 1;
  std::shared_ptr<const FakeContent> content;
  Json given;  // what its writer said of it: contentType, contentEncoding, metadata …
  std::int64_t component_count = 0;
  std::int64_t created_millis = 0;

  std::string_view Given(std::string_view member) const { return given[member].AsString(); }
};

/// ifGenerationMatch and its kin. Absent: not asked for.
struct FakePreconditions {
  std::optional<std::uint64_t> generation_match, generation_not_match;
  std::optional<std::uint64_t> metageneration_match, metageneration_not_match;

  /// `prefix`: "if", or "ifSource".
  static FakePreconditions From(const ServedRequest& request, std::string_view prefix = "if");
  /// 200, 412, or 304 for reads where only a NotMatch fails. `object` may be null: nothing is there.
  int Check(const FakeObject* object) const;
};

/// What became of a change: 200, or the status of an error; the object as it stands now.
struct FakeOutcome {
  int status = 200;
  std::optional<FakeObject> object;
};

struct FakePage {
  std::vector<FakeObject> objects;
  std::vector<std::string> prefixes;
  std::string next;  // empty: the last page
};

struct FakeListing {
  std::string prefix, delimiter, start, end, token;
  std::size_t most = 1000;
};

/// What came and went in a bucket.
struct FakeBooks {
  int objects = 0;      // there now
  int made = 0;         // ever
  int most_made = 0;    // of one name
  int overwritten = 0;  // took the place of another one
};

/// Safe from any thread.
class FakeGcsObjects {
 public:
  explicit FakeGcsObjects(const Clock& clock) : clock_(clock) {}

  void SetBucket(const std::string& name, const FakeBucket& bucket);
  std::optional<FakeBucket> Bucket(const std::string& name) const;
  /// From now on a second write of one object within a second is answered with 429.
  void LimitWrites(bool limit);
  int refused_writes() const;

  std::optional<FakeObject> Find(const std::string& bucket, const std::string& name,
                                 std::optional<std::uint64_t> generation = std::nullopt) const;
  /// Gives `object` a generation and puts it in the place of what was there.
  FakeOutcome Put(FakeObject object, const FakePreconditions& preconditions);
  FakeOutcome Remove(const std::string& bucket, const std::string& name,
                     std::optional<std::uint64_t> generation, const FakePreconditions& preconditions);
  FakePage List(const std::string& bucket, const FakeListing& listing) const;
  /// How often an object took the place of another one.
  int overwritten() const;
  std::map<std::string, FakeBooks> Books() const;
  /// How often an object of this name was made.
  int Made(const std::string& bucket, const std::string& name) const;

 private:
  using Key = std::pair<std::string, std::string>;  // bucket, name
  bool TooSoon(const Key& key);

  const Clock& clock_;
  mutable std::mutex mutex_;  // for what follows
  std::map<std::string, FakeBucket> buckets_;
  std::map<Key, FakeObject> objects_;
  std::map<Key, std::chrono::nanoseconds> written_;
  std::map<Key, int> made_;
  std::uint64_t generation_ = 1'700'000'000'000'000;
  bool limit_writes_ = false;
  int refused_writes_ = 0;
  std::map<std::string, int> overwritten_;  // by bucket
};

/// The resource as the JSON API gives it; `base` is the URL of the server.
Json FakeResource(const FakeObject& object, std::string_view base);
/// "crc32c=…,md5=…", the value of x-goog-hash.
std::string FakeHashes(const FakeContent& content);
/// A CRC-32C as the JSON API writes it.
std::string CrcText(std::uint32_t crc);
/// What a `fields` parameter leaves of `resource`: "a,b(c,d),e/f".
Json KeepFields(const Json& resource, std::string_view fields);

}  // namespace pipeline
