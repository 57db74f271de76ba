#include "storage/digest_cache.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

constexpr std::string_view kFirstLine = "pipe digests 2\n";
constexpr std::int64_t kStillForMillis = 2000;  // the coarsest mtime in use, FAT's
constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::uint64_t kBytesOfALine = 16 << 10;  // hashing so much takes as long as a small file does

Result<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  if (!real) return LocalError(path, "cannot find", errno);
  return std::string(real.get());
}

std::string Hex8(std::uint32_t number) {
  std::string hex(8, '0');
  for (std::size_t i = 8; i-- > 0; number >>= 4) hex[i] = "0123456789abcdef"[number & 15];
  return hex;
}

/// Removes the text up to the next space from the front of `line` and returns it.
std::string_view NextField(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

template <class T>
bool ParseNumber(std::string_view digits, T& number) {
  const char* end = digits.data() + digits.size();
  const auto [parsed, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && parsed == end;
}

/// Adds the entry of `line`, unless it is damaged.
void TakeLine(std::string_view line, CachedDigests& digests) {
  const std::string_view check = NextField(line);
  if (check != Hex8(Crc32c(line))) return;
  const std::optional<Digest> digest = Digest::FromHex(NextField(line));
  FileIdentity file;
  if (!digest || !ParseNumber(NextField(line), file.size) || !ParseNumber(NextField(line), file.mtime_ns) ||
      !ParseNumber(NextField(line), file.inode) || !ParseNumber(NextField(line), file.ctime_ns))
    return;
  const Result<Json> path = Json::Parse(line);
  if (!path.ok() || !path->is_string()) return;
  file.path = path->AsString();
  digests.insert_or_assign(file.path, CachedDigest{file, *digest});
}

/// Adds the undamaged entries of a cache of any length, which is not held in memory. After an error, those
/// before it are there.
Status ReadDigestCache(const ByteFile& file, CachedDigests& digests) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, {}));
  std::string piece(kReadBytes, '\0');
  std::string held;  // the beginning of a line whose end is not read yet
  bool is_front = true;
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) return {};
    held.append(piece, 0, got);
    std::size_t begin = 0;
    if (is_front) {
      if (held.size() < kFirstLine.size()) continue;
      if (!held.starts_with(kFirstLine)) return {};
      begin = kFirstLine.size();
      is_front = false;
    }
    for (std::size_t end; (end = held.find('\n', begin)) != std::string::npos; begin = end + 1)
      TakeLine(std::string_view(held).substr(begin, end - begin), digests);
    held.erase(0, begin);
    // No path is so long: the line is damaged, and so its rest has a wrong check.
    if (held.size() > kReadBytes) held.clear();
  }
}

}  // namespace

CachedDigests ParseDigestCache(std::string_view text) {
  CachedDigests digests;
  if (text.substr(0, kFirstLine.size()) != kFirstLine) return digests;
  text.remove_prefix(kFirstLine.size());
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    TakeLine(text.substr(0, end), digests);
  return digests;
}

std::string FormatDigestCache(const CachedDigests& digests) {
  std::string text(kFirstLine);
  for (const auto& [path, cached] : digests) {
    const FileIdentity& file = cached.file;
    std::string line = StrCat(cached.digest.ToHex(), ' ', file.size, ' ', file.mtime_ns, ' ', file.inode, ' ',
                              file.ctime_ns, ' ');
    AppendJsonString(line, path);
    text += StrCat(Hex8(Crc32c(line)), ' ', line, '\n');
  }
  return text;
}

DigestCache::DigestCache(Store& store, std::string name, const Clock& clock, std::uint64_t saved_each)
    : store_(store), name_(std::move(name)), clock_(clock), saved_each_(saved_each) {}

DigestCache::~DigestCache() {
  const Lock lock(mutex_);
  Save();
}

Result<Digest> DigestCache::DigestOfFile(const std::string& path, const HashProgress& progress,
                                         std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::string real_path, RealPath(path));
  const std::int64_t began_ms = clock_.UnixMillis();
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(real_path));
  if (const auto known = FindCached(file->identity())) return *known;

  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, std::move(stop)));
  Hasher hasher;
  // To clear a MiB takes longer than to hash a small file.
  std::string piece(std::min<std::uint64_t>(kReadBytes, file->size() + 1), '\0');
  for (std::uint64_t done = 0;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) break;
    hasher.Update(std::string_view(piece).substr(0, got));
    done += got;
    if (progress) progress(done, file->size());
  }
  const Digest digest = hasher.Finish();
  ASSIGN_OR_RETURN(const std::int64_t changed, file->ChangeTime());
  // A file that changed lately is not remembered: it may have changed since with its old mtime. The digest is
  // that of the bytes that were read, and the next caller hashes the file again.
  const std::int64_t latest = std::max(file->identity().mtime_ns, file->identity().ctime_ns);
  if (changed == file->identity().ctime_ns && latest / 1'000'000 + kStillForMillis <= began_ms)
    Remember(file->identity(), digest);
  return digest;
}

Result<std::optional<Digest>> DigestCache::Find(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string real_path, RealPath(path));
  ASSIGN_OR_RETURN(const FileIdentity file, IdentifyFile(real_path));
  return FindCached(file);
}

std::optional<Digest> DigestCache::FindCached(const FileIdentity& file) {
  const Lock lock(mutex_);
  LoadOnce();
  const auto found = digests_.find(file.path);
  if (found == digests_.end() || !(found->second.file == file)) return std::nullopt;
  return found->second.digest;
}

void DigestCache::Remember(const FileIdentity& file, const Digest& digest) {
  const Lock lock(mutex_);
  LoadOnce();
  digests_.insert_or_assign(file.path, CachedDigest{file, digest});
  ++new_files_;
  new_bytes_ += file.size + kBytesOfALine;
  if (new_bytes_ >= saved_each_) Save();
}

void DigestCache::Save() {
  if (new_files_ == 0) return;
  const auto written = WriteObject(store_, name_, FormatDigestCache(digests_), Condition::ReplaceAny());
  if (!written.ok())
    LogWarning(StrCat("the next run hashes ", new_files_, new_files_ == 1 ? " file" : " files",
                      " again, because the digests cannot be kept: ", written.status().message()));
  new_files_ = new_bytes_ = 0;
}

void DigestCache::LoadOnce() {
  if (loaded_) return;
  loaded_ = true;
  const Result<std::unique_ptr<ByteFile>> file = store_.Open(name_);
  const Status read = file.ok() ? ReadDigestCache(**file, digests_) : file.status();
  if (!read.ok() && read.code() != Code::kNotFound)
    LogWarning(StrCat(digests_.empty() ? "" : "some ", "files are hashed anew: ", read.message()));
}

}  // namespace pipeline
