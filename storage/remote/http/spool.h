// Buffers bytes before their upload to a bucket: in memory while they are few, then in a temporary.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "storage/local_file.h"
#include "storage/remote/http/versioned_file.h"
#include "storage/temporary_file.h"

namespace pipeline {

inline constexpr std::size_t kSpoolMemoryBytes = 8 << 20;

/// The checksum of the first bytes of a spool.
struct SpoolSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const SpoolSum&) const = default;
};

/// The error for a file that its owner keeps changing.
Status ChangedAgainAndAgain(const std::string& path);

/// Removes its temporary when destroyed; after a kill, LocalStore::Sweep removes it as a temporary of the
/// object kSpoolName. One thread at a time; after Open, once the checksum is known, several threads may
/// open and check it.
class Spool {
 public:
  static constexpr std::string_view kSpoolName = "object.spooled";

  /// The directory is created when needed.
  explicit Spool(std::string directory) : directory_(std::move(directory)) {}

  Status Append(std::string_view bytes);
  /// Adopts a whole file as the first content; it is read in place, and its checksum is computed on the
  /// way. It is copied if more content follows.
  void Adopt(std::unique_ptr<LocalFile> file);
  /// As above for a remote file, which is read again each time its bytes are sent.
  void Adopt(const VersionedFile& file);
  /// True if reading again is expensive, because the bytes are not on this machine.
  bool is_remote() const { return remote_ != nullptr; }
  std::uint64_t size() const { return size_; }
  /// Absent until the whole adopted file was read.
  std::optional<std::uint32_t> crc32c() const {
    return sum_.bytes == size_ ? std::optional(sum_.crc32c) : std::nullopt;
  }
  /// As crc32c(), after reading the missing bytes.
  Result<std::uint32_t> Checksum(const std::stop_token& stop);
  /// Identifies this state of an adopted file, in this process and the next; empty: the content ends with
  /// this process.
  std::string Origin() const;
  /// Continues from the checksum `sum` that an earlier process computed for the same state; ignored unless
  /// it is further than our own.
  void GoOnFrom(const SpoolSum& sum);
  /// Calls `told` with the checksum after every `every` bytes read, on the reading thread.
  void Watch(std::uint64_t every, std::function<void(const SpoolSum&)> told);
  /// Reads up to byte `bytes`, from the end of the checksum on.
  Status ReadUpTo(std::uint64_t bytes, const std::stop_token& stop);
  /// Call after the last read. False: the owner of an adopted file changed bytes that were already read
  /// (ctime shows it), so the checksum matches no state; it is reset, and the whole file must be read
  /// again. kDataLoss if size or mtime changed.
  Result<bool> Settle(const std::stop_token& stop);
  /// Opens the appended bytes for reading at any offset. The file must not outlive the spool; do not append
  /// while it is read.
  Result<std::unique_ptr<ByteFile>> Open();
  /// The file that holds the bytes, for messages.
  std::string Where() const;
  /// kDataLoss if the bytes read back differ from the appended ones. For a remote file it computes the
  /// checksum again, because the one of an earlier process may be wrong.
  Status Check(const std::stop_token& stop = {});

 private:
  /// Adds `bytes`, read at `offset`, to the checksum.
  void Sum(std::uint64_t offset, std::string_view bytes);
  /// The adopted file; null: the bytes are here.
  std::shared_ptr<const ByteFile> Source() const;
  Status Unadopt();
  Status Write(std::string_view bytes);

  const std::string directory_;
  std::shared_ptr<const LocalFile> adopted_;  // not ours, and then the whole content; null: the members below
  std::shared_ptr<const VersionedFile> remote_;  // the same for a remote file
  std::int64_t adopted_ctime_ = 0;  // its ctime when the bytes read were last known to be unchanged
  std::optional<TemporaryFile> file_;
  std::string bytes_;  // all bytes, or those not written yet
  std::uint64_t size_ = 0;
  SpoolSum sum_;
  std::function<void(const SpoolSum&)> told_;  // empty: no callback
  std::uint64_t told_every_ = 0, told_at_ = 0;
};

}  // namespace pipeline
