// The members of a tar or a zip, front to back, by libarchive. Rules: formats/archive.md.
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

enum class ArchiveKind : std::uint8_t { kTar, kZip };

/// Enough of a front for DetectArchive; all of a shorter one.
inline constexpr std::size_t kArchiveFrontBytes = 512;

/// By the bytes at the front; absent where they begin no archive.
std::optional<ArchiveKind> DetectArchive(std::string_view front);

/// What a file is named as (the last part of a path or URL), e.g. a.tar.xz, a.tgz, a.zip; absent where its
/// name promises no archive.
std::optional<ArchiveKind> ArchiveByName(std::string_view name);

struct ArchiveMember {
  std::string name;  // as the archive has it: any bytes
  bool is_file = false;
  bool encrypted = false;
};

/// One thread at a time. After an error nothing may be called.
class ArchiveReader : public ByteReader {
 public:
  /// The next member in the order of the archive, absent at its end. Passes over what is left of the
  /// one before.
  virtual Result<std::optional<ArchiveMember>> Next() = 0;
  /// Read: bytes of the current member, 0 at its end.
};

/// `input` is decoded.
Result<std::unique_ptr<ArchiveReader>> OpenTar(std::unique_ptr<ByteReader> input);
/// `file` must outlive the reader.
Result<std::unique_ptr<ArchiveReader>> OpenZip(const ByteFile& file, std::stop_token stop);

}  // namespace pipeline
