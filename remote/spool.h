// Bytes on their way to a bucket: in memory while they are few, then in a temporary of a directory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "storage/local_file.h"
#include "storage/temporary_file.h"

namespace pipeline {

inline constexpr std::size_t kSpoolMemoryBytes = 8 << 20;

/// Removed with all that it holds at the end of its scope; what a killed process left is a temporary of the
/// object kSpoolName, which LocalStore::Sweep removes. One thread at a time; once it was opened, several may
/// open and check it.
class Spool {
 public:
  static constexpr std::string_view kSpoolName = "object.spooled";

  /// The directory is made when it is needed.
  explicit Spool(std::string directory) : directory_(std::move(directory)) {}

  Status Append(std::string_view bytes);
  /// All of a file, as first content: read once for its checksum, and from then on where it lies. It is
  /// copied where more follows.
  Status Adopt(std::unique_ptr<LocalFile> file, std::stop_token stop);
  std::uint64_t size() const { return size_; }
  std::uint32_t crc32c() const { return crc32c_; }
  /// To read what was appended from any offset; lives no longer than the spool, and nothing is appended while
  /// it is read.
  Result<std::unique_ptr<ByteFile>> Open();
  /// kDataLoss where what is read back is not what was appended.
  Status Check();

 private:
  Status Unadopt();
  Status Write(std::string_view bytes);

  const std::string directory_;
  std::unique_ptr<LocalFile> adopted_;  // somebody else's, and then all there is; null: what follows
  std::optional<TemporaryFile> file_;
  std::string bytes_;  // all of it, or what is not written yet
  std::uint64_t size_ = 0;
  std::uint32_t crc32c_ = 0;
};

}  // namespace pipeline
