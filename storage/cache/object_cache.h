// Copies of remote objects, and of parts of them, in a directory of this machine. Form and rules:
// storage/cache/cache.md
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "base/result.h"
#include "storage/temporary_file.h"

namespace pipeline {

/// A part of an object that is kept as one. The last one of an object may be shorter.
inline constexpr std::size_t kCacheBlockBytes = 256 << 10;

class ObjectCache;

/// The blocks of one state of one object. Safe from any thread, and beside other processes. It stays readable
/// after the cache has removed it.
class CachedBlocks {
 public:
  std::uint64_t size() const { return size_; }
  /// Fills `out` with the whole block. False: it is not here, or damaged.
  bool Read(std::uint64_t block, std::span<char> out) const;
  /// Stores a whole block. If that fails: it is not here, and nothing is stored any more.
  void Write(std::uint64_t block, std::string_view bytes);
  /// Bytes of this block, which exists.
  std::size_t BytesOf(std::uint64_t block) const;

 private:
  friend class ObjectCache;
  CachedBlocks(ObjectCache& cache, FileDescriptor file, std::uint64_t size)
      : cache_(cache), file_(std::move(file)), size_(size) {}

  ObjectCache& cache_;
  const FileDescriptor file_;
  const std::uint64_t size_;
  std::atomic<bool> closed_ = false;  // a block could not be stored, or the cache has removed this
};

/// An object that is being written elsewhere, as the cache will hold it. One thread at a time. It is removed
/// with this, unless it was kept.
class CacheCopy {
 public:
  /// If that fails, the copy is given up: Keep does nothing.
  void Append(std::string_view bytes);
  /// Keeps the copy as that of the object `key`, if it has `size` bytes.
  void Keep(std::string_view key, std::uint64_t size);

 private:
  friend class ObjectCache;
  explicit CacheCopy(ObjectCache& cache) : cache_(cache) {}
  bool Store(std::string_view block);

  ObjectCache& cache_;
  std::optional<TemporaryFile> file_;  // absent: there is no whole block yet
  std::string block_;                  // the bytes behind the last whole block
  std::string map_;
  std::uint64_t size_ = 0;
  bool given_up_ = false;
};

/// Safe from any thread; several processes may use one directory. It outlives its blocks and copies. A cache
/// that cannot be written loses time, never a result.
class ObjectCache {
 public:
  /// Makes the directory. `most_bytes`: of the disk, for all processes together; absent: half of those that
  /// are free now or in the cache. 0: nothing is stored.
  static Result<std::unique_ptr<ObjectCache>> Open(std::string directory,
                                                   std::optional<std::uint64_t> most_bytes);

  /// The blocks of the object `key`, with `size` bytes, for reading and for adding. Null: it cannot be kept.
  std::shared_ptr<CachedBlocks> Find(std::string_view key, std::uint64_t size);
  CacheCopy Copy() { return CacheCopy(*this); }

  std::uint64_t most_bytes() const { return most_bytes_; }

 private:
  friend class CachedBlocks;
  friend class CacheCopy;
  ObjectCache(std::string directory, std::uint64_t most_bytes);

  std::string PathOf(std::string_view key) const;
  /// Counts `bytes` that were added, and removes the least recently used objects if there may be too many.
  void Added(std::uint64_t bytes);
  void Trim();

  const std::string directory_;
  const std::uint64_t most_bytes_;
  const std::uint64_t slack_;  // bytes that a process adds between two looks at all
  std::atomic<std::uint64_t> added_ = 0;
  Mutex trimming_;
};

}  // namespace pipeline
