// Interface to named objects in a directory, in memory, on a web server or in a bucket. See
// storage/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "base/status.h"

namespace pipeline {

/// Identifies one state of an object. `version` changes with every write of the object (local: inode, size
/// and mtime; Google Cloud Storage: the generation). It is compared, never interpreted.
struct ObjectInfo {
  std::string name;
  std::uint64_t size = 0;
  std::string version;
  std::optional<std::uint32_t> crc32c;  // absent: the store keeps no checksum
  std::int64_t ctime_ns = 0;            // of a file, since 1970; no part of the state; 0: unknown
  /// Names an object in any state: the version is empty.
  static ObjectInfo Any(std::string name) { return {std::move(name), 0, {}, {}}; }
  bool operator==(const ObjectInfo& other) const {
    return name == other.name && size == other.size && version == other.version && crc32c == other.crc32c;
  }
};

/// Condition for a commit. If it does not hold, nothing changes and Commit fails.
struct Condition {
  enum class Kind : std::uint8_t { kCreateOnly, kReplaceVersion, kReplaceUnlessSame, kReplaceAny };
  Kind kind = Kind::kCreateOnly;
  std::string version;  // kReplaceVersion, kReplaceUnlessSame: the version that must exist now

  static Condition CreateOnly() { return {}; }
  static Condition Replace(std::string known_version) {
    return {Kind::kReplaceVersion, std::move(known_version)};
  }
  /// Like Replace, but an object that already has the same bytes is left alone and reported as written, if
  /// the store keeps checksums.
  static Condition ReplaceUnlessSame(std::string known_version) {
    return {Kind::kReplaceUnlessSame, std::move(known_version)};
  }
  static Condition ReplaceAny() { return {Kind::kReplaceAny, {}}; }
};

/// Writes one object, front to back. One thread at a time. No reader sees any byte before Commit has
/// returned OK. A writer that is destroyed without Commit leaves nothing.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  /// Accepts all of `bytes`, or fails. May block.
  virtual Status Append(std::string_view bytes) = 0;
  /// Appends all of `file`; may share its storage instead of copying.
  virtual Status AppendFile(const ByteFile& file, std::stop_token stop);
  /// Makes the object visible and durable. kAlreadyExists, kFailedPrecondition: the condition does not
  /// hold. kCancelled: a long commit was stopped, and no object was created. No call may follow.
  virtual Result<ObjectInfo> Commit(std::stop_token stop = {}) = 0;
};

/// A flat name space of objects. Names are relative, `/` separates their parts, and no part is empty, `.`
/// or `..`. Every method is safe from any thread.
class Store {
 public:
  virtual ~Store() = default;
  /// kNotFound: no such object. Readers of the file see the state at the time of Open, or fail; they never
  /// see two versions mixed. The file may outlive the store.
  virtual Result<std::unique_ptr<ByteFile>> Open(std::string_view name) = 0;
  /// Opens the state `known`, which List, Stat or Commit returned; a bucket is not asked for it again. An
  /// empty version: any state. kNotFound: that state is gone. A store may find that later: readers then fail
  /// with kDataLoss and ReplacedWhileRead, unless a cache has the bytes of that state.
  virtual Result<std::unique_ptr<ByteFile>> OpenKnown(const ObjectInfo& known);
  virtual Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) = 0;
  /// Absent: no such object. This is not a failure.
  virtual Result<std::optional<ObjectInfo>> Stat(std::string_view name) = 0;
  /// Returns all objects whose names begin with `prefix`, by name. Objects without Commit are not listed.
  virtual Result<std::vector<ObjectInfo>> List(std::string_view prefix) = 0;
  /// OK also if there is no such object.
  virtual Status Remove(std::string_view name) = 0;
  /// Removes each of `objects` that is in the state given: an object in another state stays, and an empty
  /// version is any state. They go in this order, one after the other or some at a time; `removed` is called
  /// for each that was dealt with, and once it has returned false, no others go. A power cut may undo the
  /// last ones until this returns.
  virtual Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed);
  /// Removes uncommitted data under `prefix` from writers of dead processes.
  virtual Status Sweep(std::string_view prefix) = 0;
};

/// Writes a whole small object at once.
Result<ObjectInfo> WriteObject(Store& store, std::string_view name, std::string_view bytes,
                               const Condition& condition, std::stop_token stop = {});

/// Removes one object in the state `known`, as RemoveAll does.
Status RemoveKnown(Store& store, const ObjectInfo& known);

/// Detail of the failure of a reader: another writer replaced or removed the object after it was opened.
struct ReplacedWhileRead final : StatusDetail {};

/// Detail of the failure of a reader: the bytes that arrived are not those of the object, by its checksum.
struct DamagedOnTheWay final : StatusDetail {};

/// Returns all bytes of a small object, of one version: an object that is replaced meanwhile, or damaged on
/// the way, is read again, a few times. kResourceExhausted: it is larger than `max_bytes`.
Result<std::string> ReadObject(Store& store, std::string_view name, std::uint64_t max_bytes,
                               std::stop_token stop = {});
/// Returns all bytes of the state `known`, as OpenKnown knows it. kNotFound: that state is gone.
Result<std::string> ReadObject(Store& store, const ObjectInfo& known, std::uint64_t max_bytes,
                               std::stop_token stop = {});

// Object names that every store accepts.
inline constexpr std::size_t kMaxNameBytes = 1024;
/// kInvalidArgument: `name` is not an object name, see storage/README.md.
Status CheckObjectName(std::string_view name);

/// Removes `objects` as Store::RemoveAll does, but in any order: some in one go, others at the same time. OK
/// also for those that are not there or have another state.
Status RemoveObjects(Store& store, std::span<const ObjectInfo> objects);

}  // namespace pipeline
