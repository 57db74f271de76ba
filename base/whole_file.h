// Files that are read, or replaced, as a whole, and bytes of open files that are read or written as a whole.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// Returns all bytes of the file. kNotFound: there is none.
Result<std::string> ReadWholeFile(const std::string& path);

/// Fills `out` from `offset` of the open file `file`, as far as the file goes, and returns the number of
/// bytes. Negative: a failure, which `errno` has.
ssize_t ReadFullyAt(int file, std::uint64_t offset, std::span<char> out);
/// Writes all bytes to the open file `file`. False: a failure, which `errno` has. Some bytes may be written.
bool WriteFully(int file, std::string_view bytes);
/// The same at `offset`.
bool WriteFullyAt(int file, std::uint64_t offset, std::string_view bytes);

/// As WriteFully; messages call the file `path`.
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
