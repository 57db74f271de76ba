// Files that are read, or replaced, as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// Returns all bytes of the file. kNotFound: there is none.
Result<std::string> ReadWholeFile(const std::string& path);

/// Writes all bytes to the open file `file`, which messages call `path`.
Status WriteAll(int file, std::string_view bytes, const std::string& path);

enum class Durability : std::uint8_t {
  kSeen,     // other processes see the bytes; a power cut may undo the write
  kDurable,  // the bytes and the name are on the disk
};

/// Replaces the file at `path` by way of `path`.part. A reader sees all of the old bytes or all of the new
/// ones.
Status WriteWholeFile(const std::string& path, std::string_view bytes, Durability durability);

/// Returns once the bytes of the file, or the names in the directory, are on the disk.
Status SyncFile(const std::string& path);

}  // namespace pipeline
