#include "storage/cache/object_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/file_descriptor.h"
#include "base/file_lock.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "storage/directory.h"
#include "storage/local_names.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kRecordBytes = 8;
constexpr std::uint32_t kMark = 0x65706970;  // so that zeros are no record
constexpr std::uint64_t kMostSlack = 64 << 20;
constexpr std::string_view kLockName = "lock";

using Record = std::array<char, kRecordBytes>;

std::uint64_t BlocksOf(std::uint64_t size) { return (size + kCacheBlockBytes - 1) / kCacheBlockBytes; }
/// The map is behind the bytes of the object.
std::uint64_t RecordAt(std::uint64_t size, std::uint64_t block) { return size + block * kRecordBytes; }

Record RecordOf(std::string_view bytes) {
  const std::uint32_t crc = Crc32c(bytes);
  const std::array<std::uint32_t, 2> words{crc, crc ^ kMark};
  Record record;
  std::memcpy(record.data(), words.data(), record.size());
  return record;
}

/// Absent: the record says that its block is not here.
std::optional<std::uint32_t> CrcIn(const Record& record) {
  std::array<std::uint32_t, 2> words{};
  std::memcpy(words.data(), record.data(), record.size());
  return (words[0] ^ kMark) == words[1] ? std::optional(words[0]) : std::nullopt;
}

/// Fills all of `out`.
bool FillAt(const FileDescriptor& file, std::uint64_t offset, std::span<char> out) {
  return ReadFullyAt(file.get(), offset, out) == static_cast<ssize_t>(out.size());
}

/// A file of the cache, with the bytes that it takes on the disk and the time when it was used last.
struct Held {
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;
};

/// Removes what dead processes left, and returns the rest.
std::vector<Held> FilesIn(const std::string& directory) {
  std::vector<Held> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string path = at->path().string(), name = at->path().filename().string();
    struct stat info {};
    if (name == kLockName || ::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const std::optional<TemporaryName> temporary = ParseTemporaryName(name);
    if (temporary && RemoveAbandoned(path, *temporary).ok() && ::lstat(path.c_str(), &info) != 0) continue;
    files.push_back({path, static_cast<std::uint64_t>(info.st_blocks) * 512,
                     std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec});
  }
  return files;
}

std::uint64_t SumOf(const std::vector<Held>& files) {
  std::uint64_t bytes = 0;
  for (const Held& file : files) bytes += file.bytes;
  return bytes;
}

}  // namespace

// --------------------------------------------------------------------------------------- blocks

std::size_t CachedBlocks::BytesOf(std::uint64_t block) const {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(kCacheBlockBytes, size_ - block * kCacheBlockBytes));
}

bool CachedBlocks::Read(std::uint64_t block, std::span<char> out) const {
  Record record;
  if (!FillAt(file_, RecordAt(size_, block), record)) return false;
  const std::optional<std::uint32_t> crc = CrcIn(record);
  return crc && FillAt(file_, block * kCacheBlockBytes, out) &&
         Crc32c(std::string_view(out.data(), out.size())) == *crc;
}

void CachedBlocks::Write(std::uint64_t block, std::string_view bytes) {
  if (closed_) return;
  struct stat info {};
  const Record record = RecordOf(bytes);
  // The record comes after its block: a kill in between leaves a block that is not here.
  if (::fstat(file_.get(), &info) != 0 || info.st_nlink == 0 ||
      !WriteFullyAt(file_.get(), block * kCacheBlockBytes, bytes) ||
      !WriteFullyAt(file_.get(), RecordAt(size_, block), {record.data(), record.size()})) {
    closed_ = true;
    return;
  }
  cache_.Added(bytes.size());
}

// ----------------------------------------------------------------------------------------- copy

bool CacheCopy::Store(std::string_view block) {
  if (!file_) {
    Result<TemporaryFile> made = TemporaryFile::Create(StrCat(cache_.directory_, "/new/object"));
    if (!made.ok()) return false;
    file_ = std::move(*made);
  }
  const Record record = RecordOf(block);
  map_.append(record.data(), record.size());
  const bool stored = WriteFullyAt(file_->descriptor(), size_, block);
  size_ += block.size();
  return stored;
}

void CacheCopy::Append(std::string_view bytes) {
  if (cache_.most_bytes_ == 0) given_up_ = true;
  while (!bytes.empty() && !given_up_) {
    const std::string_view front = bytes.substr(0, kCacheBlockBytes - block_.size());
    block_ += front;
    bytes.remove_prefix(front.size());
    if (block_.size() < kCacheBlockBytes) return;
    given_up_ = !Store(block_);
    block_.clear();
  }
}

void CacheCopy::Keep(std::string_view key, std::uint64_t size) {
  if (!given_up_ && !block_.empty()) given_up_ = !Store(block_);
  if (given_up_ || !file_ || size_ != size) return;
  const std::string path = cache_.PathOf(key);
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  if (!WriteFullyAt(file_->descriptor(), RecordAt(size_, 0), map_) ||
      ::rename(file_->path().c_str(), path.c_str()) != 0)
    return;
  file_->Disown();
  cache_.Added(size_);
}

// ---------------------------------------------------------------------------------------- cache

ObjectCache::ObjectCache(std::string directory, std::uint64_t most_bytes)
    : directory_(std::move(directory)),
      most_bytes_(most_bytes),
      slack_(std::min(kMostSlack, most_bytes / 16)) {}

Result<std::unique_ptr<ObjectCache>> ObjectCache::Open(std::string directory,
                                                       std::optional<std::uint64_t> most_bytes) {
  std::error_code error;
  std::filesystem::create_directories(StrCat(directory, "/new"), error);
  if (error) return SystemError(StrCat("making the directory ", directory), error.value());
  if (!most_bytes) {
    ASSIGN_OR_RETURN(const std::uint64_t free, FreeBytes(directory));
    most_bytes = (free + SumOf(FilesIn(directory))) / 2;
  }
  std::unique_ptr<ObjectCache> cache(new ObjectCache(std::move(directory), *most_bytes));
  cache->Trim();  // the last process may have had a higher bound
  return cache;
}

std::string ObjectCache::PathOf(std::string_view key) const {
  return StrCat(directory_, "/", key.substr(0, 2), "/", key);
}

std::shared_ptr<CachedBlocks> ObjectCache::Find(std::string_view key, std::uint64_t size) {
  if (most_bytes_ == 0) return nullptr;
  const std::string path = PathOf(key);
  FileDescriptor file = OpenPath(path, O_RDWR);
  if (!file.is_open()) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    file = OpenPath(path, O_RDWR | O_CREAT, 0600);
  }
  const auto whole = static_cast<off_t>(RecordAt(size, BlocksOf(size)));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.get(), &info) != 0) return nullptr;
  if (info.st_size < whole && ::ftruncate(file.get(), whole) != 0) return nullptr;
  ::futimens(file.get(), nullptr);  // it is used now
  return std::shared_ptr<CachedBlocks>(new CachedBlocks(*this, std::move(file), size));
}

void ObjectCache::Added(std::uint64_t bytes) {
  if (added_.fetch_add(bytes) + bytes < slack_) return;
  added_ = 0;
  Trim();
}

void ObjectCache::Trim() {
  if (!trimming_.try_lock()) return;
  const Lock lock(trimming_, std::adopt_lock);
  const FileDescriptor mutex = OpenPath(StrCat(directory_, "/", kLockName), O_RDWR | O_CREAT, 0600);
  if (mutex.is_open() && TryLock(mutex, LockKind::kAlone) == FileLock::kTaken)
    return;  // another process does it
  std::vector<Held> files = FilesIn(directory_);
  std::uint64_t bytes = SumOf(files);
  if (bytes <= most_bytes_) return;
  std::sort(files.begin(), files.end(), [](const Held& a, const Held& b) { return a.used_ns < b.used_ns; });
  for (const Held& file : files) {
    if (bytes <= most_bytes_ - most_bytes_ / 8) break;
    if (ParseTemporaryName(std::filesystem::path(file.path).filename().string())) continue;
    if (::unlink(file.path.c_str()) == 0) bytes -= file.bytes;
  }
}

}  // namespace pipeline
