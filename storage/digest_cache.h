// What local source files contain, hashed once. Format: storage/digest_cache.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/result.h"
#include "storage/local_file.h"
#include "storage/store.h"

namespace pipeline {

struct CachedDigest {
  FileIdentity file;  // its path is the real one
  Digest digest;
  bool operator==(const CachedDigest&) const = default;
};
/// By path.
using CachedDigests = std::map<std::string, CachedDigest, std::less<>>;

/// What is undamaged of a cache's text; empty for another version.
CachedDigests ParseDigestCache(std::string_view text);
std::string FormatDigestCache(const CachedDigests& digests);

/// Bytes hashed so far, of all.
using HashProgress = std::function<void(std::uint64_t done, std::uint64_t of)>;

/// Safe from any thread. `store` and `clock` must outlive it.
class DigestCache {
 public:
  /// Keeps the cache as the object `name` of `store`, read at first use.
  DigestCache(Store& store, std::string name, const Clock& clock = SystemClock());

  /// The digest of a local file, from the cache or by reading it. A cache that cannot be written is
  /// only warned about. kDataLoss when the file changes meanwhile.
  Result<Digest> DigestOfFile(const std::string& path, const HashProgress& progress, std::stop_token stop);

  /// The digest without reading the file; absent when it would have to be. For plans.
  Result<std::optional<Digest>> Find(const std::string& path);

 private:
  std::optional<Digest> FindCached(const FileIdentity& file);
  void Remember(const FileIdentity& file, const Digest& digest);
  void LoadOnce() REQUIRES(mutex_);

  Store& store_;
  const std::string name_;
  const Clock& clock_;
  Mutex mutex_;
  bool loaded_ GUARDED_BY(mutex_) = false;
  CachedDigests digests_ GUARDED_BY(mutex_);
};

}  // namespace pipeline
