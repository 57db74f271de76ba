// Copies one object from any store to any other. Never loses an existing object unless asked to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "storage/store.h"

namespace pipeline {

struct CopySource {
  std::string name;                      // for messages
  std::shared_ptr<const ByteFile> file;  // shared with the opener
  std::optional<std::uint32_t> crc32c;   // of the whole file, if its store has it
  /// Identifies this state of a remote file, so that a killed copy can resume. Empty: it cannot.
  std::string version = {};
};

struct CopyTarget {
  Store& store;
  std::string name;                 // in the store
  std::string shown;                // the name in messages
  bool replaces = false;            // replaces an existing object with other bytes
  std::optional<ObjectInfo> there;  // the existing object, from List or Stat; absent: none
  /// For an object in a directory: the path of the part file, see KeptPartPath; empty: no part file is
  /// kept.
  std::string part = {};
  /// Called with the bytes that an earlier copy left and this one resumes from. May be empty.
  std::function<void(std::uint64_t bytes)> went_on = {};
};

/// Copies of this size or more, from a remote store to a directory, keep a part file when they are killed.
/// A smaller file downloads again in seconds, and each part file costs a few synchronous disk writes.
inline constexpr std::uint64_t kKeepsPartFrom = 16 << 20;

enum class CopyOutcome : std::uint8_t {
  kCopied,
  kWasThere,  // the same bytes exist, by size and CRC-32C
};

/// kAlreadyExists if other bytes exist and may not be replaced. If a store keeps no CRC-32C, it is computed
/// by reading, but only if the sizes are equal. Fails as the stores do; kCancelled after `stop`, unless the
/// object was complete by then. Resumes a killed or failed copy of the same version, from its part file in
/// a directory or its upload session of a bucket. A finished copy leaves no part file.
Result<CopyOutcome> CopyObject(const CopySource& from, const CopyTarget& to, std::stop_token stop);

}  // namespace pipeline
