// A checksum that somebody has given for a file: "sha256:9f86d0…".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

struct Checksum {
  enum class Kind : std::uint8_t { kSha256, kMd5, kCrc32c };
  Kind kind = Kind::kSha256;
  std::string hex;  // lower case, with the length of its kind
  bool operator==(const Checksum&) const = default;
};

/// Accepts "sha256:", "md5:" or "crc32c:" with hexadecimal digits, or with base64 as Google Cloud Storage
/// prints it. kInvalidArgument names the accepted forms.
Result<Checksum> ParseChecksum(std::string_view text);
/// Writes hexadecimal digits; the result parses to an equal Checksum.
std::string ToString(const Checksum& checksum);

}  // namespace pipeline
