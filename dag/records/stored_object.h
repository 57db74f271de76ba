// Description of a committed object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"

namespace pipeline {

struct ObjectInfo;

/// An object as it was written. Readers may compare it with the object that they find.
struct StoredObject {
  std::string name;  // relative to the stage's artifact directory, or to `out`
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  Digest digest;  // of the object's bytes
  /// Returns whether the existing object `there` is this one: by size and, if its store keeps one, by
  /// CRC-32C.
  bool IsAt(const ObjectInfo& there) const;
  bool operator==(const StoredObject&) const = default;
};

/// Returns the bytes of all objects.
inline std::uint64_t BytesOf(const std::vector<StoredObject>& objects) {
  std::uint64_t bytes = 0;
  for (const StoredObject& object : objects) bytes += object.bytes;
  return bytes;
}

}  // namespace pipeline
