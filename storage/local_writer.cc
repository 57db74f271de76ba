#include "storage/local_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <set>

#include "base/commit_point.h"
#include "base/crc32c.h"
#include "base/file_descriptor.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

constexpr std::size_t kBufferBytes = 256 << 10;
constexpr std::size_t kWriteBackBytes = 8 << 20;
constexpr std::uint64_t kCopyBytes = 1 << 20;  // between two looks at the stop token
constexpr int kCopyTurns = 5;                  // copies of a file that its owner changes meanwhile

/// Sets the present time as mtime: two states of an object must differ in mtime even if the kernel's own time
/// stands still.
Status StampModificationTime(int descriptor, const std::string& path) {
  timespec times[2] = {{0, UTIME_OMIT}, {}};
  clock_gettime(CLOCK_REALTIME, &times[1]);
  return futimens(descriptor, times) == 0 ? Status() : LocalError(path, "cannot set its time", errno);
}

/// Only a hint: fsync waits for the bytes.
void BeginToWriteBack(int descriptor) { (void)sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE); }

}  // namespace

ObjectInfo DescribeObject(std::string name, const FileIdentity& identity) {
  return {std::move(name),
          identity.size,
          StrCat(identity.inode, '-', identity.size, '-', identity.mtime_ns),
          {},
          identity.ctime_ns};
}

Result<std::unique_ptr<ObjectWriter>> LocalWriter::Create(std::string name, std::string path,
                                                          Condition condition) {
  ASSIGN_OR_RETURN(TemporaryFile temporary, TemporaryFile::Create(path));
  return std::unique_ptr<ObjectWriter>(
      new LocalWriter(std::move(name), std::move(path), std::move(condition), std::move(temporary)));
}

Status LocalWriter::Append(std::string_view bytes) {
  if (failed_.ok()) failed_ = AppendBytes(bytes);
  return failed_;
}

Status LocalWriter::AppendFile(const ByteFile& file, std::stop_token stop) {
  if (failed_.ok()) {
    const auto* local = dynamic_cast<const LocalFile*>(&file);
    failed_ = local ? AppendCopy(*local, stop) : ObjectWriter::AppendFile(file, std::move(stop));
  }
  return failed_;
}

Result<ObjectInfo> LocalWriter::Commit(std::stop_token) {
  RETURN_IF_ERROR(Finish());
  return std::move(CommitAll({this}).front());
}

Status LocalWriter::Finish() {
  if (!failed_.ok()) return failed_;
  failed_ = Status(Code::kInternal, StrCat(path_, ": its writer was used after Commit"));
  return WriteOut();
}

std::vector<Result<ObjectInfo>> LocalWriter::CommitAll(const std::vector<LocalWriter*>& writers) {
  // Each fsync would begin to write and wait for its own bytes; so the bytes of all are under way before.
  if (writers.size() > 1)
    for (const LocalWriter* writer : writers) BeginToWriteBack(writer->temporary_.descriptor());
  std::vector<Result<ObjectInfo>> results;
  for (LocalWriter* writer : writers) {
    Status synced = writer->Sync();
    results.push_back(synced.ok() ? Result<ObjectInfo>(ObjectInfo()) : std::move(synced));
  }
  std::set<std::string> directories;
  {
    std::optional<DirectoryLock> lock;
    std::string locked;
    for (std::size_t at = 0; at < writers.size(); ++at) {
      if (!results[at].ok()) continue;
      results[at] = writers[at]->MakeVisible(lock, locked);
      if (results[at].ok()) directories.insert(ParentDirectory(writers[at]->path_));
    }
  }
  for (const std::string& directory : directories) {
    const Status synced = SyncDirectory(directory);
    for (std::size_t at = 0; at < writers.size() && !synced.ok(); ++at)
      if (results[at].ok() && ParentDirectory(writers[at]->path_) == directory) results[at] = synced;
  }
  for (const Result<ObjectInfo>& result : results)
    if (result.ok()) PassCommitPoint("object.visible");
  return results;
}

Status LocalWriter::AppendBytes(std::string_view bytes) {
  if (bytes.empty()) return {};
  RETURN_IF_ERROR(Unshare());
  empty_ = false;
  if (buffer_.size() + bytes.size() < kBufferBytes) {
    buffer_.append(bytes);
    return {};
  }
  RETURN_IF_ERROR(Flush());
  if (bytes.size() >= kBufferBytes) return Write(bytes);
  buffer_.append(bytes);
  return {};
}

Status LocalWriter::AppendCopy(const LocalFile& file, const std::stop_token& stop) {
  if (file.size() == 0) return {};
  if (empty_ && file.keeper() == LocalFile::Keeper::kStore) {
    if (std::optional<TemporaryFile> link = TemporaryFile::Link(path_, file)) {
      temporary_ = std::move(*link);
      shared_ = true;
      empty_ = false;
      return file.CheckUnchanged();
    }
  }
  RETURN_IF_ERROR(Unshare());
  RETURN_IF_ERROR(Flush());
  empty_ = false;
  const off_t begin = lseek(temporary_.descriptor(), 0, SEEK_CUR);
  if (begin < 0) return LocalError(path_, "cannot tell how long it is", errno);
  std::int64_t seen = file.identity().ctime_ns;
  for (int turn = 0; turn < kCopyTurns; ++turn) {
    Status copied = CopyFrom(file.descriptor(), file.size(), stop);
    if (!copied.ok()) return std::move(copied).Annotate(StrCat("copying ", file.identity().path));
    RETURN_IF_ERROR(file.CheckUnchanged());
    ASSIGN_OR_RETURN(const std::int64_t now, file.ChangeTime());
    if (now == seen || file.keeper() == LocalFile::Keeper::kStore) return {};
    // The file may have another state since the middle of the copy, so both checksums are compared.
    seen = now;
    ASSIGN_OR_RETURN(const std::uint32_t theirs, file.Checksum(stop));
    ASSIGN_OR_RETURN(const std::uint32_t ours, ChecksumFrom(begin));
    if (ours == theirs) return {};
    if (ftruncate(temporary_.descriptor(), begin) != 0 ||
        lseek(temporary_.descriptor(), begin, SEEK_SET) != begin)
      return LocalError(path_, "cannot be cut", errno);
  }
  return Status(Code::kDataLoss, StrCat(file.identity().path, ": was changed again and again while it was ",
                                        "copied; run again when it is still"));
}

Result<std::uint32_t> LocalWriter::ChecksumFrom(off_t offset) const {
  std::string piece(kBufferBytes, '\0');
  for (std::uint32_t crc = 0;;) {
    const ssize_t got = ReadFullyAt(temporary_.descriptor(), static_cast<std::uint64_t>(offset), piece);
    if (got < 0) return LocalError(path_, "cannot read the written bytes", errno);
    if (got == 0) return crc;
    crc = Crc32c(std::string_view(piece).substr(0, static_cast<std::size_t>(got)), crc);
    offset += got;
  }
}

Status LocalWriter::WriteOut() {
  RETURN_IF_ERROR(Flush());
  PassCommitPoint("object.written");
  return shared_ ? Status() : StampModificationTime(temporary_.descriptor(), path_);
}

Status LocalWriter::Sync() {
  if (Uninterrupted([this] { return fsync(temporary_.descriptor()); }) != 0)
    return LocalError(path_, "cannot sync", errno);
  PassCommitPoint("object.synced");
  return {};
}

/// `lock` holds the directory `locked`, for the next object in it. One directory is held at a time: two
/// writers would otherwise wait for each other.
Result<ObjectInfo> LocalWriter::MakeVisible(std::optional<DirectoryLock>& lock, std::string& locked) {
  ASSIGN_OR_RETURN(const FileIdentity identity, IdentifyFile(temporary_.path()));
  if (condition_.kind == Condition::Kind::kCreateOnly) {
    RETURN_IF_ERROR(CreateOnly());
  } else {
    std::string directory = ParentDirectory(path_);
    if (!lock || locked != directory) {
      lock.reset();
      ASSIGN_OR_RETURN(lock, DirectoryLock::Acquire(directory));
      locked = std::move(directory);
    }
    RETURN_IF_ERROR(Replace(identity));
  }
  return DescribeObject(name_, identity);
}

Status LocalWriter::CreateOnly() {
  const char* from = temporary_.path().c_str();
  if (renameat2(AT_FDCWD, from, AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
    temporary_.Disown();
    return {};
  }
  int error = errno;
  // NFS has no such rename, but it can link; the owner of the temporary removes its name.
  if (error == EINVAL || error == ENOSYS || error == EOPNOTSUPP) {
    if (link(from, path_.c_str()) == 0) return {};
    error = errno;
  }
  if (HasLanded()) return {};
  if (error == EEXIST) return Status(Code::kAlreadyExists, StrCat(path_, ": is there already"));
  return LocalError(path_, "cannot make it visible", error);
}

Status LocalWriter::Replace(const FileIdentity& ours) {
  const Result<FileIdentity> current = IdentifyFile(path_);
  if (!current.ok() && current.status().code() != Code::kNotFound) return current.status();
  if (condition_.kind != Condition::Kind::kReplaceAny) {
    if (!current.ok())
      return Status(Code::kFailedPrecondition, StrCat(path_, ": was removed by somebody else"));
    if (DescribeObject({}, *current).version != condition_.version)
      return Status(Code::kFailedPrecondition, StrCat(path_, ": was replaced by somebody else"));
  }
  // If both names belong to one inode, the object is in place, and a rename does nothing.
  if (current.ok() && current->inode == ours.inode) return {};
  if (rename(temporary_.path().c_str(), path_.c_str()) == 0) {
    temporary_.Disown();
    return {};
  }
  const int error = errno;
  return HasLanded() ? Status() : LocalError(path_, "cannot make it visible", error);
}

bool LocalWriter::HasLanded() const {
  struct stat ours, named;
  if (fstat(temporary_.descriptor(), &ours) != 0 || lstat(path_.c_str(), &named) != 0) return false;
  if (ours.st_dev != named.st_dev || ours.st_ino != named.st_ino) return false;
  // Another writer may have linked the same file to this name.
  return !shared_ || (lstat(temporary_.path().c_str(), &named) != 0 && errno == ENOENT);
}

Status LocalWriter::Flush() {
  RETURN_IF_ERROR(Write(buffer_));
  buffer_.clear();
  return {};
}

Status LocalWriter::Write(std::string_view bytes) {
  if (!WriteFully(temporary_.descriptor(), bytes)) return LocalError(path_, "cannot write", errno);
  waiting_ += bytes.size();
  // The disk works meanwhile, and the fsync at the end waits for the last bytes alone.
  if (waiting_ >= kWriteBackBytes) {
    BeginToWriteBack(temporary_.descriptor());
    waiting_ = 0;
  }
  return {};
}

Status LocalWriter::CopyFrom(int descriptor, std::uint64_t size, const std::stop_token& stop) {
  bool kernel_copies = true;
  std::string piece;
  off_t offset = 0;
  while (static_cast<std::uint64_t>(offset) < size) {
    if (stop.stop_requested()) return Status(Code::kCancelled, StrCat(path_, ": writing was stopped"));
    const auto wanted =
        static_cast<std::size_t>(std::min(size - static_cast<std::uint64_t>(offset), kCopyBytes));
    if (kernel_copies) {
      // If the kernel cannot copy, the read and the write below succeed or report the reason.
      const ssize_t copied =
          copy_file_range(descriptor, &offset, temporary_.descriptor(), nullptr, wanted, 0);
      kernel_copies = copied > 0 || (copied < 0 && errno == EINTR);
      continue;
    }
    piece.resize(wanted);
    const ssize_t got = ReadFullyAt(descriptor, static_cast<std::uint64_t>(offset), piece);
    if (got < 0) return SystemError("cannot read", errno);
    if (got == 0) return Status(Code::kDataLoss, StrCat("ends at byte ", offset, " of ", size));
    RETURN_IF_ERROR(Write(std::string_view(piece).substr(0, static_cast<std::size_t>(got))));
    offset += got;
  }
  return {};
}

Status LocalWriter::Unshare() {
  if (!shared_) return {};
  struct stat found;
  if (fstat(temporary_.descriptor(), &found) != 0) return LocalError(path_, "cannot look at it", errno);
  ASSIGN_OR_RETURN(TemporaryFile own, TemporaryFile::Create(path_));
  std::swap(temporary_, own);
  shared_ = false;
  return CopyFrom(own.descriptor(), static_cast<std::uint64_t>(found.st_size), {});
}

}  // namespace pipeline
