// Digests of local source files; each file is hashed once. Format: storage/digest_cache.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/result.h"
#include "storage/checked_file.h"
#include "storage/local_file.h"
#include "storage/store.h"

namespace pipeline {

struct CachedDigest {
  FileIdentity file;  // with its real path
  Digest digest;
  RangeDigests ranges{};  // empty: it has one range at most, whose digest is `digest`
  // The rest is of this process, and is not stored.
  bool is_kept = true;           // false: the file is hashed again at the next call
  bool is_read = false;          // it was hashed here
  bool by_times = false;         // its digest was given, and it was not hashed here
  std::vector<bool> compared{};  // by range; empty: none was
  bool operator==(const CachedDigest&) const = default;
};
/// By path.
using CachedDigests = std::map<std::string, CachedDigest, std::less<>>;

/// Returns the undamaged entries of a cache; empty: another version.
CachedDigests ParseDigestCache(std::string_view text);
std::string FormatDigestCache(const CachedDigests& digests);

/// The files whose digests were given because their sizes and times were as before.
struct ByTimesAlone {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  // of ranges that were not compared
  std::string path;         // of one of them
};

/// Bytes hashed so far, and bytes in all.
using HashProgress = std::function<void(std::uint64_t done, std::uint64_t of)>;

/// Safe from any thread. `store` and `clock` must outlive this object.
class DigestCache {
 public:
  static constexpr std::uint64_t kSavedEach = 1 << 30;

  /// Stores the cache as the object `name` of `store`. Reads it at first use, and writes it at its end and
  /// when about `saved_each` bytes were hashed: the cost of many small files does not grow with their square,
  /// and a kill costs little.
  DigestCache(Store& store, std::string name, const Clock& clock = SystemClock(),
              std::uint64_t saved_each = kSavedEach);
  ~DigestCache();
  DigestCache(const DigestCache&) = delete;
  DigestCache& operator=(const DigestCache&) = delete;

  /// Returns the digest of a local file, from the cache or by reading the file. kDataLoss: the file changed
  /// while it was read. If the cache cannot be written, only a warning is logged, here or at the end.
  Result<Digest> DigestOfFile(const std::string& path, const HashProgress& progress, std::stop_token stop);

  /// From now on each file is read once in this process, whatever the cache has.
  void ReadAll();

  /// Returns the failure of readers: the file at this real path has other bytes from `begin` to `end`.
  using Differs = std::function<Status(const std::string& real_path, std::uint64_t begin, std::uint64_t end)>;
  /// Returns `file` as one whose ranges are compared, or as it is if they are not known: it was never hashed,
  /// or has another state now. A file that differs is forgotten.
  std::unique_ptr<ByteFile> Checked(std::unique_ptr<LocalFile> file, Differs differs);
  /// Returns the ranges of the file in its present state; empty: they are not known.
  RangeDigests RangesOf(const std::string& path);
  /// Takes the ranges of the file in its present state, for Checked. Another process hashed it.
  void SetRanges(const std::string& path, RangeDigests ranges);
  /// The file has other bytes than its digest says, and is hashed again at the next call; this process goes
  /// on to compare it with the old ones. `real_path`: without links.
  void Forget(const std::string& real_path);
  ByTimesAlone NotRead();

  /// Returns the digest without reading the file, for plans. Absent: the file would have to be read.
  Result<std::optional<Digest>> Find(const std::string& path);

 private:
  /// Null: nothing is known of the file in this state.
  CachedDigest* Entry(const FileIdentity& file) REQUIRES(mutex_);
  RangeDigests KnownRanges(const FileIdentity& file);
  void Remember(CachedDigest entry);
  void LoadOnce() REQUIRES(mutex_);
  void Save() REQUIRES(mutex_);

  Store& store_;
  const std::string name_;
  const Clock& clock_;
  const std::uint64_t saved_each_;
  Mutex mutex_;
  bool loaded_ GUARDED_BY(mutex_) = false;
  bool read_all_ GUARDED_BY(mutex_) = false;
  CachedDigests digests_ GUARDED_BY(mutex_);
  std::uint64_t new_files_ GUARDED_BY(mutex_) = 0;  // since the cache was written
  std::uint64_t new_bytes_ GUARDED_BY(mutex_) = 0;  // of them, and kBytesOfALine for each
};

}  // namespace pipeline
