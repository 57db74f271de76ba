// One object from any store to any other. Nothing that is there already is lost unasked.
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
  std::shared_ptr<const ByteFile> file;  // shared with whoever opened it
  std::optional<std::uint32_t> crc32c;   // of the whole, where its place says so
  /// Of a file of another machine: names this state of it, so that a copy that was killed can be gone on
  /// with. Empty: nothing does.
  std::string version = {};
};

struct CopyTarget {
  Store& store;
  std::string name;                 // in the store
  std::string shown;                // for messages
  bool replaces = false;            // what is there and differs
  std::optional<ObjectInfo> there;  // as a list or Stat showed it; absent: nothing
  /// Of an object in a directory: where the front of what arrives is kept, see KeptPartPath; empty: nowhere.
  std::string part = {};
  /// Told how many bytes an earlier copy has left, from which this one goes on. May be empty.
  std::function<void(std::uint64_t bytes)> went_on = {};
};

/// A copy from another machine to a directory that is at least so large leaves a part when it is killed. What
/// is smaller has come again in a second or a few; and each part costs some writes that wait for the disk.
inline constexpr std::uint64_t kKeepsPartFrom = 16 << 20;

enum class CopyOutcome : std::uint8_t {
  kCopied,
  kWasThere,  // the same bytes, by size and CRC-32C
};

/// kAlreadyExists where other bytes are there and are not to be replaced. Where a place keeps no CRC-32C, it
/// is read for one, but only if the sizes are equal. Fails as the stores do; kCancelled once `stop` is
/// requested, unless the object was complete by then. What a killed or failed copy of the same version has
/// left is gone on with: a part in a directory, an upload session of a bucket. No part is left by one that is
/// done.
Result<CopyOutcome> CopyObject(const CopySource& from, const CopyTarget& to, std::stop_token stop);

}  // namespace pipeline
