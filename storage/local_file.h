// One file of the local file system, read where it lies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/byte_reader.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace pipeline {

/// What a file looks like from outside. As long as all of it is equal, the bytes are taken to be. Where
/// ctime alone differs, the bytes may be the same (a chmod, a further link, a backup) or not (written in
/// place, the old mtime put back): only reading them tells.
struct FileIdentity {
  std::string path;  // as it was given
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // since 1970
  std::uint64_t inode = 0;
  std::int64_t ctime_ns = 0;  // since 1970, by the kernel's own clock
  bool operator==(const FileIdentity&) const = default;
};

/// kNotFound where there is no such file; kInvalidArgument where it is a directory or a device.
Result<FileIdentity> IdentifyFile(const std::string& path);

/// Immutable. Its readers fail with kDataLoss once the file was edited in place; where its owner put the old
/// mtime back, ChangeTime is what shows it.
class LocalFile final : public ByteFile {
 public:
  /// Who may change the file in place: nobody when a store wrote it, else its owner.
  enum class Keeper : std::uint8_t { kStore, kOther };

  static Result<std::unique_ptr<LocalFile>> Open(const std::string& path, Keeper keeper = Keeper::kOther);

  std::uint64_t size() const override { return identity_.size; }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override;

  /// As it was when it was opened.
  const FileIdentity& identity() const { return identity_; }
  Keeper keeper() const { return keeper_; }
  int descriptor() const { return file_.get(); }
  /// kDataLoss when the open file's size or mtime are no longer what they were.
  Status CheckUnchanged() const;
  /// The ctime of the open file now, in ns since 1970. Whoever read all bytes between two equal ones has read
  /// one state of the file. Else see FileIdentity.
  Result<std::int64_t> ChangeTime() const;
  /// The CRC-32C of all bytes, as they are now.
  Result<std::uint32_t> Checksum(std::stop_token stop) const;

 private:
  LocalFile(FileDescriptor file, FileIdentity identity, Keeper keeper)
      : file_(std::move(file)), identity_(std::move(identity)), keeper_(keeper) {}

  FileDescriptor file_;
  FileIdentity identity_;
  Keeper keeper_;
};

}  // namespace pipeline
