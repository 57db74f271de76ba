// The door to where bytes are: a directory, memory, a web server, a bucket. See storage/README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

/// What names one state of an object. `version` changes with every write of the object (local:
/// inode, size and mtime; Google Cloud Storage: the generation); it is compared, never interpreted.
struct ObjectInfo {
  std::string name;
  std::uint64_t size = 0;
  std::string version;
  std::optional<std::uint32_t> crc32c;  // absent where the place does not keep one
};

/// What must hold when a write is committed; otherwise nothing changes and Commit fails.
struct Condition {
  enum class Kind : std::uint8_t { kCreateOnly, kReplaceVersion, kReplaceUnlessSame, kReplaceAny };
  Kind kind = Kind::kCreateOnly;
  std::string version;  // kReplaceVersion, kReplaceUnlessSame: what must be there now

  static Condition CreateOnly() { return {}; }
  static Condition Replace(std::string known_version) {
    return {Kind::kReplaceVersion, std::move(known_version)};
  }
  /// As Replace, but what has the bytes already is left alone and told as written, where the place keeps
  /// checksums.
  static Condition ReplaceUnlessSame(std::string known_version) {
    return {Kind::kReplaceUnlessSame, std::move(known_version)};
  }
  static Condition ReplaceAny() { return {Kind::kReplaceAny, {}}; }
};

/// Writes one object, front to back. One thread at a time. No reader sees any of it before Commit
/// has returned OK; destroyed uncommitted, it never existed.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  /// Takes all of `bytes`, or fails. May block.
  virtual Status Append(std::string_view bytes) = 0;
  /// Appends all of `file`; may share its storage instead of copying.
  virtual Status AppendFile(const ByteFile& file, std::stop_token stop);
  /// Makes the object visible and durable. kAlreadyExists or kFailedPrecondition when the
  /// condition does not hold; kCancelled where it takes long and was stopped: then nothing is there. No call
  /// may follow.
  virtual Result<ObjectInfo> Commit(std::stop_token stop = {}) = 0;
};

/// A place that keeps named objects. Names are relative, `/` separates their parts, and no part is
/// empty, `.` or `..`. Every method is safe from any thread.
class Store {
 public:
  virtual ~Store() = default;
  /// kNotFound where there is no such object. The file stays readable as it was opened, or its
  /// readers fail; never a mixture of two versions. It may outlive the store.
  virtual Result<std::unique_ptr<ByteFile>> Open(std::string_view name) = 0;
  virtual Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) = 0;
  /// Absent where there is no such object: an answer, not a failure.
  virtual Result<std::optional<ObjectInfo>> Stat(std::string_view name) = 0;
  /// Every object whose name begins with `prefix`, by name. What is not committed is not listed.
  virtual Result<std::vector<ObjectInfo>> List(std::string_view prefix) = 0;
  /// OK also when there was nothing.
  virtual Status Remove(std::string_view name) = 0;
  /// Removes what writers of dead processes left under `prefix` uncommitted.
  virtual Status Sweep(std::string_view prefix) = 0;
};

/// Writes a whole small object at once.
Result<ObjectInfo> WriteObject(Store& store, std::string_view name, std::string_view bytes,
                               const Condition& condition, std::stop_token stop = {});

/// The whole of a small object; kResourceExhausted when it is larger than `max_bytes`.
Result<std::string> ReadObject(Store& store, std::string_view name, std::uint64_t max_bytes,
                               std::stop_token stop = {});

}  // namespace pipeline
