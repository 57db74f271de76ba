// A file of the local file system, read in place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/byte_reader.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// Visible attributes of a file. While all of them are equal, the bytes count as equal. If only ctime
/// differs, the bytes may be the same (a chmod, another link, a backup) or different (written in place, old
/// mtime restored): only reading shows it.
struct FileIdentity {
  std::string path;  // as given
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // since 1970
  std::uint64_t inode = 0;
  std::int64_t ctime_ns = 0;  // since 1970, by the clock of the kernel
  bool operator==(const FileIdentity&) const = default;
};

/// kNotFound: no such file. kInvalidArgument: a directory or a device.
Result<FileIdentity> IdentifyFile(const std::string& path);

/// Immutable. Readers fail with kDataLoss after the file was edited in place. If its owner restored the old
/// mtime, only ChangeTime shows the edit.
class LocalFile final : public ByteFile {
 public:
  /// Right to edit the file in place. kStore: nobody has it, a store wrote the file. kOther: its owner.
  enum class Keeper : std::uint8_t { kStore, kOther };

  static Result<std::unique_ptr<LocalFile>> Open(const std::string& path, Keeper keeper = Keeper::kOther);

  std::uint64_t size() const override { return identity_.size; }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

  /// Attributes at the time of Open.
  const FileIdentity& identity() const { return identity_; }
  Keeper keeper() const { return keeper_; }
  int descriptor() const { return file_.get(); }
  /// kDataLoss: the size or mtime of the open file has changed.
  Status CheckUnchanged() const;
  /// Current ctime of the open file, in ns since 1970. If it is equal before and after a read of all bytes,
  /// these bytes are one state of the file. Otherwise see FileIdentity.
  Result<std::int64_t> ChangeTime() const;
  /// Returns the CRC-32C of all current bytes.
  Result<std::uint32_t> Checksum(std::stop_token stop) const;

 private:
  LocalFile(FileDescriptor file, FileIdentity identity, Keeper keeper)
      : file_(std::move(file)), identity_(std::move(identity)), keeper_(keeper) {}

  FileDescriptor file_;
  FileIdentity identity_;
  Keeper keeper_;
};

}  // namespace pipeline
