// Writes one object of a LocalStore: temporary, fsync, rename. Order and limits: storage/README.md.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/directory.h"
#include "storage/store.h"
#include "storage/temporary_file.h"

namespace pipeline {

class LocalWriter final : public ObjectWriter {
 public:
  /// `path`: future path of the object `name`.
  static Result<std::unique_ptr<ObjectWriter>> Create(std::string name, std::string path,
                                                      Condition condition);

  Status Append(std::string_view bytes) override;
  Status AppendFile(const ByteFile& file, std::stop_token stop) override;
  Result<ObjectInfo> Commit(std::stop_token) override;
  /// The first part of Commit: all bytes are in the temporary, neither durable nor visible. Only CommitAll
  /// may follow.
  Status Finish();
  /// Commits finished writers in this order, and returns the outcome of each. Their syncs follow each other
  /// after all bytes are written, and each directory is synced once.
  static std::vector<Result<ObjectInfo>> CommitAll(const std::vector<LocalWriter*>& writers);

 private:
  LocalWriter(std::string name, std::string path, Condition condition, TemporaryFile temporary)
      : name_(std::move(name)),
        path_(std::move(path)),
        condition_(std::move(condition)),
        temporary_(std::move(temporary)) {}

  Status AppendBytes(std::string_view bytes);
  Status AppendCopy(const LocalFile& file, const std::stop_token& stop);
  Status WriteOut();
  Status Sync();
  Result<ObjectInfo> MakeVisible(std::optional<DirectoryLock>& lock, std::string& locked);
  Status CreateOnly();
  /// Called with the directory locked. `ours`: of the temporary.
  Status Replace(const FileIdentity& ours);
  /// True if a rename that reported an error did take place: network file systems report an error when an
  /// answer is lost.
  bool HasLanded() const;
  Status Flush();
  Status Write(std::string_view bytes);
  /// Copies `size` bytes from the start of an open file to the end of the temporary.
  Status CopyFrom(int descriptor, std::uint64_t size, const std::stop_token& stop);
  /// CRC-32C of the bytes of the temporary from `offset` on.
  Result<std::uint32_t> ChecksumFrom(off_t offset) const;
  /// Replaces a temporary that is a link by a copy that may be written to.
  Status Unshare();

  const std::string name_;
  const std::string path_;
  const Condition condition_;
  TemporaryFile temporary_;
  std::string buffer_;       // small appends, up to kBufferBytes
  std::size_t waiting_ = 0;  // bytes that were written since the disk was asked to begin with them
  bool empty_ = true;        // nothing was appended yet
  bool shared_ = false;      // the temporary is a link to another object's bytes
  Status failed_;            // the first failure; every later call returns it
};

/// Names the state of a local file as an object: see "versions" in storage/README.md.
ObjectInfo DescribeObject(std::string name, const FileIdentity& identity);

}  // namespace pipeline
