// What is known of a file beside its bytes: what it is called, how long it is, and its CRC-32C.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace pipeline {

struct FileFacts {
  std::string name;  // relative to a directory, with `/` between its parts
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;

  bool operator==(const FileFacts&) const = default;
};

/// 8 hexadecimal digits, as in a manifest.
std::string ShownCrc(const FileFacts& facts);

/// Whether a file of that name lies below its directory wherever that is: no part of it is empty, `.` or
/// `..`.
bool StaysBelow(std::string_view name);

/// Reads `directory`/`name`. kCancelled once `stopped` says so; kNotFound where there is no such file.
Result<FileFacts> MeasureFile(const std::string& directory, const std::string& name,
                              const std::function<bool()>& stopped);
/// The names of all files below `directory`, sorted.
Result<std::vector<std::string>> FilesBelow(const std::string& directory);
/// Bytes that may still be written there; the directory, or one above it, is there.
Result<std::uint64_t> FreeBytesAt(const std::string& directory);

/// What an entry of a list of files says: `bytes`, `crc32c`, and the name as member `name_member`. kDataLoss
/// naming `where` for one that says something else.
Result<FileFacts> ParseFileFacts(const Json& entry, std::string_view name_member, std::string_view where);
/// Every object that a manifest (dag/manifest.md) names, by name.
Result<std::vector<FileFacts>> FilesOfManifest(const Json& manifest, std::string_view where);

}  // namespace pipeline
