// What somebody said that the bytes of a file are: "sha256:9f86d0…".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

struct Checksum {
  enum class Kind : std::uint8_t { kSha256, kMd5, kCrc32c };
  Kind kind = Kind::kSha256;
  std::string hex;  // lower case, of the length that the kind has
  bool operator==(const Checksum&) const = default;
};

/// "sha256:", "md5:" or "crc32c:" and the digits; or, as Google Cloud Storage prints them, base64.
/// kInvalidArgument says what is accepted.
Result<Checksum> ParseChecksum(std::string_view text);
/// Parses to an equal one; in hexadecimal digits.
std::string ToString(const Checksum& checksum);

}  // namespace pipeline
