// One object from any store to any other. Nothing that is there already is lost unasked.
#pragma once

#include <cstdint>
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
};

struct CopyTarget {
  Store& store;
  std::string name;                 // in the store
  std::string shown;                // for messages
  bool replaces = false;            // what is there and differs
  std::optional<ObjectInfo> there;  // as a list or Stat showed it; absent: nothing
};

enum class CopyOutcome : std::uint8_t {
  kCopied,
  kWasThere,  // the same bytes, by size and CRC-32C
};

/// kAlreadyExists where other bytes are there and are not to be replaced. Where a place keeps no CRC-32C, it
/// is read for one, but only if the sizes are equal. Fails as the stores do; kCancelled once `stop` is
/// requested, unless the object was complete by then.
Result<CopyOutcome> CopyObject(const CopySource& from, const CopyTarget& to, std::stop_token stop);

}  // namespace pipeline
