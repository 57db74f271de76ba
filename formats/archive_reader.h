// Reads the members of a tar or a zip, front to back, with libarchive. Rules: formats/archive.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace pipeline {

std::string ArchiveLibraryVersion();

enum class ArchiveKind : std::uint8_t { kTar, kZip };

/// Number of leading bytes that DetectArchive needs; a shorter input is passed whole.
inline constexpr std::size_t kArchiveFrontBytes = 512;

/// Decides by the first bytes; absent: they do not begin an archive.
std::optional<ArchiveKind> DetectArchive(std::string_view front);

/// Decides by a file name (the last part of a path or URL), e.g. a.tar.xz, a.tgz, a.zip; absent: the name
/// is not that of an archive.
std::optional<ArchiveKind> ArchiveByName(std::string_view name);

struct ArchiveMember {
  std::string name;  // as stored in the archive: any bytes
  bool is_file = false;
  bool encrypted = false;
};

/// One thread at a time. After an error no function may be called.
class ArchiveReader : public ByteReader {
 public:
  /// Returns the next member in the order of the archive; absent at its end. Skips the rest of the current
  /// member.
  virtual Result<std::optional<ArchiveMember>> Next() = 0;
  /// Read returns bytes of the current member, 0 at its end.
};

/// `input` must be decompressed.
Result<std::unique_ptr<ArchiveReader>> OpenTar(std::unique_ptr<ByteReader> input);
/// `file` must outlive the reader.
Result<std::unique_ptr<ArchiveReader>> OpenZip(const ByteFile& file, std::stop_token stop);

}  // namespace pipeline
