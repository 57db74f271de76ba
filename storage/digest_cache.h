// Digests of local source files; each file is hashed once. Format: storage/digest_cache.md.
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
  FileIdentity file;  // with its real path
  Digest digest;
  bool operator==(const CachedDigest&) const = default;
};
/// By path.
using CachedDigests = std::map<std::string, CachedDigest, std::less<>>;

/// Returns the undamaged entries of a cache; empty: another version.
CachedDigests ParseDigestCache(std::string_view text);
std::string FormatDigestCache(const CachedDigests& digests);

/// Bytes hashed so far, and bytes in all.
using HashProgress = std::function<void(std::uint64_t done, std::uint64_t of)>;

/// Safe from any thread. `store` and `clock` must outlive this object.
class DigestCache {
 public:
  static constexpr std::uint64_t kSavedEach = 1 << 30;

  /// Stores the cache as the object `name` of `store`. Reads it at first use, and writes it at its end and when
  /// about `saved_each` bytes were hashed: the cost of many small files does not grow with their square, and a
  /// kill costs little.
  DigestCache(Store& store, std::string name, const Clock& clock = SystemClock(),
              std::uint64_t saved_each = kSavedEach);
  ~DigestCache();
  DigestCache(const DigestCache&) = delete;
  DigestCache& operator=(const DigestCache&) = delete;

  /// Returns the digest of a local file, from the cache or by reading the file. kDataLoss: the file changed
  /// while it was read. If the cache cannot be written, only a warning is logged, here or at the end.
  Result<Digest> DigestOfFile(const std::string& path, const HashProgress& progress, std::stop_token stop);

  /// Returns the digest without reading the file, for plans. Absent: the file would have to be read.
  Result<std::optional<Digest>> Find(const std::string& path);

 private:
  std::optional<Digest> FindCached(const FileIdentity& file);
  void Remember(const FileIdentity& file, const Digest& digest);
  void LoadOnce() REQUIRES(mutex_);
  void Save() REQUIRES(mutex_);

  Store& store_;
  const std::string name_;
  const Clock& clock_;
  const std::uint64_t saved_each_;
  Mutex mutex_;
  bool loaded_ GUARDED_BY(mutex_) = false;
  CachedDigests digests_ GUARDED_BY(mutex_);
  std::uint64_t new_files_ GUARDED_BY(mutex_) = 0;  // since the cache was written
  std::uint64_t new_bytes_ GUARDED_BY(mutex_) = 0;  // of them, and kBytesOfALine for each
};

}  // namespace pipeline
