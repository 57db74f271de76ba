// Bytes on their way to a bucket: in memory while they are few, then in a temporary of a directory.
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
#include "remote/versioned_file.h"
#include "storage/local_file.h"
#include "storage/temporary_file.h"

namespace pipeline {

inline constexpr std::size_t kSpoolMemoryBytes = 8 << 20;

/// The checksum of the first bytes of a spool.
struct SpoolSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const SpoolSum&) const = default;
};

/// What a writer says of a file whose owner does not leave it alone.
Status ChangedAgainAndAgain(const std::string& path);

/// Removed with all that it holds at the end of its scope; what a killed process left is a temporary of the
/// object kSpoolName, which LocalStore::Sweep removes. One thread at a time; once it was opened and its
/// checksum is known, several may open and check it.
class Spool {
 public:
  static constexpr std::string_view kSpoolName = "object.spooled";

  /// The directory is made when it is needed.
  explicit Spool(std::string directory) : directory_(std::move(directory)) {}

  Status Append(std::string_view bytes);
  /// All of a file, as first content, read where it lies; its checksum is taken as it is read. It is copied
  /// where more follows.
  void Adopt(std::unique_ptr<LocalFile> file);
  /// The same of a file of another machine, which is read as often as its bytes are sent.
  void Adopt(const VersionedFile& file);
  /// Reading it again is dear: nothing of it is on this machine.
  bool is_remote() const { return remote_.has_value(); }
  std::uint64_t size() const { return size_; }
  /// Absent while not all of an adopted file was read.
  std::optional<std::uint32_t> crc32c() const {
    return sum_.bytes == size_ ? std::optional(sum_.crc32c) : std::nullopt;
  }
  /// The same, after reading what is missing.
  Result<std::uint32_t> Checksum(const std::stop_token& stop);
  /// Tells this state of an adopted file from others and from other files, in this process and the next;
  /// empty for what is gone with this process.
  std::string Origin() const;
  /// Takes it that an earlier process came to `sum` by reading the same state; of use where it is further
  /// than this one has read.
  void GoOnFrom(const SpoolSum& sum);
  /// `told` hears of the checksum each time that so many bytes more were read; on the thread that reads.
  void Watch(std::uint64_t every, std::function<void(const SpoolSum&)> told);
  /// Reads the first `bytes`, as far as the checksum lacks them.
  Status ReadUpTo(std::uint64_t bytes, const std::stop_token& stop);
  /// False where the owner of an adopted file changed bytes that were read, which the kernel's ctime shows:
  /// its checksum is that of no state, and is forgotten; all of it is to be read again. To be asked after the
  /// last read. kDataLoss where size or mtime show a change.
  Result<bool> Settle(const std::stop_token& stop);
  /// To read what was appended from any offset; lives no longer than the spool, and nothing is appended while
  /// it is read.
  Result<std::unique_ptr<ByteFile>> Open();
  /// The file that it is in, for messages.
  std::string Where() const;
  /// kDataLoss where what is read back is not what was appended. Of a file of another machine the checksum is
  /// taken anew: what an earlier process said of it may be wrong.
  Status Check(const std::stop_token& stop = {});

 private:
  friend class SummingReader;
  /// `bytes`, which begin at `offset`, were read.
  void Sum(std::uint64_t offset, std::string_view bytes);
  Status Unadopt();
  Status Write(std::string_view bytes);

  const std::string directory_;
  std::unique_ptr<LocalFile> adopted_;   // somebody else's, and then all there is; null: what follows
  std::optional<VersionedFile> remote_;  // the same of another machine
  std::int64_t adopted_ctime_ = 0;       // up to which its bytes are known to be those that were read
  std::optional<TemporaryFile> file_;
  std::string bytes_;  // all of it, or what is not written yet
  std::uint64_t size_ = 0;
  SpoolSum sum_;
  std::function<void(const SpoolSum&)> told_;  // empty: nobody
  std::uint64_t told_every_ = 0, told_at_ = 0;
};

}  // namespace pipeline
