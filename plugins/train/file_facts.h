// The name, length and CRC-32C of a file, and the files of a directory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

/// True if the name stays below any directory that it is appended to: no part of it is empty, `.` or `..`.
bool StaysBelow(std::string_view name);

/// Reads `directory`/`name`. kCancelled once `stopped` returns true; kNotFound: there is no such file.
Result<FileFacts> MeasureFile(const std::string& directory, const std::string& name,
                              const std::function<bool()>& stopped);
/// The same for several files at a time, in the order of `names`.
Result<std::vector<FileFacts>> MeasureFiles(const std::string& directory,
                                            const std::vector<std::string>& names);
/// kDataLoss names a file of `written`, below `place`, that is not among `found` as it should be.
Status CheckAsWritten(const std::vector<FileFacts>& written, const std::vector<FileFacts>& found,
                      const std::string& place);
/// Length, time and number of a file, to see whether it was written since; absent: it cannot be looked at.
std::optional<std::string> LookOfFile(const std::string& path);
/// The names in `directory` itself; none if it cannot be read.
std::vector<std::string> NamesIn(const std::string& directory);
/// The names of all files below `directory`, sorted.
Result<std::vector<std::string>> FilesBelow(const std::string& directory);
/// Links `from`/NAME as `to`/NAME for each name; copies where the file system has no links. kNotFound: a file
/// is gone.
Status LinkFiles(const std::string& from, const std::vector<std::string>& names, const std::string& to);

/// Removes a file, or a directory with all below it; OK also if it does not exist.
Status RemoveAll(const std::string& path);

/// Bytes of free disk space there; the directory or one above it must exist.
Result<std::uint64_t> FreeBytesAt(const std::string& directory);

/// Parses an entry of a file list: `bytes`, `crc32c`, and the name in the member `name_member`. kDataLoss
/// names `where` if the entry is malformed.
Result<FileFacts> ParseFileFacts(const Json& entry, std::string_view name_member, std::string_view where);
/// All objects that a manifest (dag/books/manifest.md) lists, sorted by name.
Result<std::vector<FileFacts>> FilesOfManifest(const Json& manifest, std::string_view where);

}  // namespace pipeline
