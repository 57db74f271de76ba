// Upload sessions of a fake Google Cloud Storage: what of an object has arrived so far.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fake_gcs_objects.h"

namespace pipeline {

inline constexpr std::uint64_t kFakeQuantum = 256 << 10;  // what is kept of a chunk that broke off

struct FakeSession {
  std::mutex mutex;   // held by whoever answers a request of the session
  FakeObject object;  // without content
  FakePreconditions preconditions;
  std::string hashes;  // declared by x-goog-hash at the start
  std::shared_ptr<FakeContent> content;
  std::optional<FakeObject> done;
  int gone = 0;           // the status of every further answer; 0: alive
  int rewrite_calls = 0;  // of a rewrite, which is a session too
};

/// Safe from any thread.
class FakeGcsUploads {
 public:
  /// Its id.
  std::string Add(std::shared_ptr<FakeSession> session);
  /// Null where there is none. What shares it: the requests that are being answered.
  std::shared_ptr<FakeSession> Find(const std::string& id) const;
  /// Uploads that were started and neither finished nor cancelled.
  int open() const;
  /// Of all that were ever started.
  std::vector<std::string> ids() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<FakeSession>> sessions_;
};

/// Whether what a writer declared ("crc32c=…,md5=…", or members of its resource) is what arrived.
bool HashesHold(std::string_view declared, const Json& resource, const FakeContent& content);

}  // namespace pipeline
