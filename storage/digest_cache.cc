#include "storage/digest_cache.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/crc32c.h"
#include "base/json_fields.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "base/words.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

constexpr std::string_view kFirstLine = "pipe digests 2\n";
constexpr std::string_view kRangesWord = "ranges";
constexpr std::int64_t kStillForMillis = 2000;  // the coarsest mtime in use, FAT's
constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kLongestLine = 16 << 20;     // the ranges of 32 TiB
constexpr std::size_t kDigestDigits = 32;          // of a digest
constexpr std::uint64_t kBytesOfALine = 16 << 10;  // hashing so much takes as long as a small file does

Result<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  if (!real) return LocalError(path, "cannot find", errno);
  return std::string(real.get());
}

std::string_view NextField(std::string_view& line) { return TakeUntil(line, ' '); }

template <class T>
bool ParseInto(std::string_view digits, T& number) {
  const std::optional<T> parsed = ParseNumber<T>(digits);
  number = parsed.value_or(0);
  return parsed.has_value();
}

/// Takes the lines of a cache, and adds their entries. It passes over damaged lines.
class LineTaker {
 public:
  explicit LineTaker(CachedDigests& digests) : digests_(digests) {}

  void Take(std::string_view line) {
    const RangeDigests ranges = std::exchange(ranges_, {});
    const std::string_view check = NextField(line);
    if (check != Hex32(Crc32c(line))) return;
    const std::string_view first = NextField(line);
    const std::optional<Digest> digest = Digest::FromHex(first == kRangesWord ? NextField(line) : first);
    if (!digest) return;
    if (first == kRangesWord) return TakeRanges(*digest, line);
    FileIdentity file;
    if (!ParseInto(NextField(line), file.size) || !ParseInto(NextField(line), file.mtime_ns) ||
        !ParseInto(NextField(line), file.inode) || !ParseInto(NextField(line), file.ctime_ns))
      return;
    const Result<Json> path = Json::Parse(line);
    if (!path.ok() || !path->is_string()) return;
    file.path = path->AsString();
    const bool is_theirs = !ranges.empty() && of_ == *digest;
    digests_.insert_or_assign(file.path, CachedDigest{file, *digest, is_theirs ? ranges : RangeDigests()});
  }

 private:
  void TakeRanges(const Digest& of, std::string_view digits) {
    of_ = of;
    for (; !digits.empty(); digits.remove_prefix(std::min(kDigestDigits, digits.size()))) {
      const std::optional<Digest> range = Digest::FromHex(digits.substr(0, kDigestDigits));
      if (!range) return ranges_.clear();
      ranges_.push_back(*range);
    }
  }

  CachedDigests& digests_;
  RangeDigests ranges_;  // of the line before; empty: it had none
  Digest of_;            // the content that has them
};

/// Returns whether the digest stands for the file while it looks as before.
bool Holds(const CachedDigest& entry) {
  const std::uint64_t ranges = RangesIn(entry.file.size);
  return entry.is_kept && (ranges <= 1 || entry.ranges.size() == ranges);
}

/// Adds the undamaged entries of a cache of any length, which is not held in memory. After an error, those
/// before it are there.
Status ReadDigestCache(const ByteFile& file, CachedDigests& digests) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file.Open(0, {}));
  std::string piece(kReadBytes, '\0');
  std::string held;  // the beginning of a line whose end is not read yet
  bool is_front = true;
  LineTaker lines(digests);
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
      lines.Take(std::string_view(held).substr(begin, end - begin));
    held.erase(0, begin);
    // No line is so long: it is damaged, and so its rest has a wrong check.
    if (held.size() > kLongestLine) held.clear();
  }
}

}  // namespace

CachedDigests ParseDigestCache(std::string_view text) {
  CachedDigests digests;
  static_cast<void>(ReadDigestCache(HeldFile(text), digests));  // bytes in memory can be read
  return digests;
}

std::string FormatDigestCache(const CachedDigests& digests) {
  std::string text(kFirstLine);
  const auto add = [&text](std::string_view line) { text += StrCat(Hex32(Crc32c(line)), ' ', line, '\n'); };
  for (const auto& [path, cached] : digests) {
    if (!cached.is_kept) continue;
    const FileIdentity& file = cached.file;
    if (!cached.ranges.empty()) {
      std::string line = StrCat(kRangesWord, ' ', cached.digest.ToHex(), ' ');
      for (const Digest& range : cached.ranges) line += range.ToHex();
      add(line);
    }
    std::string line = StrCat(cached.digest.ToHex(), ' ', file.size, ' ', file.mtime_ns, ' ', file.inode, ' ',
                              file.ctime_ns, ' ');
    AppendJsonString(line, path);
    add(line);
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
  std::optional<Digest> before;
  bool was_read = false;
  {
    const Lock lock(mutex_);
    CachedDigest* const known = Entry(file->identity());
    if (known != nullptr && Holds(*known) && (known->is_read || !read_all_)) {
      known->by_times = !known->is_read;
      return known->digest;
    }
    if (known != nullptr && (known->is_kept || known->is_read)) before = known->digest;
    was_read = known != nullptr && known->is_read;
  }

  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, std::move(stop)));
  Hasher hasher;
  RangeHasher ranges;
  const bool has_ranges = RangesIn(file->size()) > 1;
  // To clear a MiB takes longer than to hash a small file.
  const std::size_t at_once = std::min<std::uint64_t>(kReadBytes, file->size() + 1);
  RETURN_IF_ERROR(ReadPieces(*reader, at_once, [&, done = std::uint64_t{0}](std::string_view bytes) mutable {
    hasher.Update(bytes);
    if (has_ranges) ranges.Update(bytes);
    done += bytes.size();
    if (progress) progress(done, file->size());
    return Status();
  }));
  const Digest digest = hasher.Finish();
  ASSIGN_OR_RETURN(const std::int64_t changed, file->ChangeTime());
  // A file that changed lately is not remembered: it may have changed since with its old mtime. The digest is
  // that of the bytes that were read, and the next caller hashes the file again.
  const std::int64_t latest = std::max(file->identity().mtime_ns, file->identity().ctime_ns);
  const bool is_kept =
      changed == file->identity().ctime_ns && latest / 1'000'000 + kStillForMillis <= began_ms;
  if (was_read && *before != digest)
    return Status(Code::kDataLoss,
                  StrCat(path, ": has other bytes than a moment ago; run again when it is still"));
  if (before && *before != digest)
    LogWarning(StrCat(path,
                      ": has other bytes than when its digest was taken, although its size and times are ",
                      "as before; it counts as another file from here on"));
  Remember({file->identity(), digest, ranges.Finish(), is_kept, true});
  return digest;
}

Result<std::optional<Digest>> DigestCache::Find(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string real_path, RealPath(path));
  ASSIGN_OR_RETURN(const FileIdentity file, IdentifyFile(real_path));
  const Lock lock(mutex_);
  const CachedDigest* const known = Entry(file);
  return known != nullptr && Holds(*known) ? std::optional(known->digest) : std::nullopt;
}

void DigestCache::ReadAll() {
  const Lock lock(mutex_);
  read_all_ = true;
}

std::unique_ptr<ByteFile> DigestCache::Checked(std::unique_ptr<LocalFile> file, Differs differs) {
  FileIdentity identity = file->identity();
  const Result<std::string> real_path = RealPath(identity.path);
  if (!real_path.ok()) return file;
  identity.path = *real_path;
  RangeDigests ranges = KnownRanges(identity);
  if (ranges.empty()) return file;
  const auto same = [this, identity](std::uint64_t range) {
    const Lock lock(mutex_);
    CachedDigest* const entry = Entry(identity);
    if (entry == nullptr || !entry->by_times) return;
    entry->compared.resize(RangesIn(identity.size));
    entry->compared[range] = true;
  };
  const auto forget = [this, path = identity.path, differs = std::move(differs)](std::uint64_t begin,
                                                                                 std::uint64_t end) {
    Forget(path);
    return differs(path, begin, end);
  };
  return std::make_unique<CheckedFile>(std::move(file), std::move(ranges), CheckedFile::Watch{forget, same});
}

RangeDigests DigestCache::RangesOf(const std::string& path) {
  const Result<std::string> real_path = RealPath(path);
  if (!real_path.ok()) return {};
  const Result<FileIdentity> file = IdentifyFile(*real_path);
  return file.ok() ? KnownRanges(*file) : RangeDigests();
}

RangeDigests DigestCache::KnownRanges(const FileIdentity& file) {
  const std::uint64_t count = RangesIn(file.size);
  const Lock lock(mutex_);
  const CachedDigest* const known = Entry(file);
  if (known == nullptr) return {};
  if (count == 1) return {known->digest};
  return known->ranges.size() == count ? known->ranges : RangeDigests();
}

void DigestCache::SetRanges(const std::string& path, RangeDigests ranges) {
  const Result<std::string> real_path = RealPath(path);
  if (!real_path.ok()) return;
  const Result<FileIdentity> file = IdentifyFile(*real_path);
  if (!file.ok() || ranges.size() != RangesIn(file->size) || ranges.empty()) return;
  const Digest digest = ranges.size() == 1 ? ranges.front() : Digest();
  Remember({*file, digest, digest.empty() ? std::move(ranges) : RangeDigests(), false});
}

void DigestCache::Forget(const std::string& real_path) {
  const Lock lock(mutex_);
  LoadOnce();
  const auto found = digests_.find(real_path);
  if (found == digests_.end() || !std::exchange(found->second.is_kept, false)) return;
  ++new_files_;  // of this process, it still counts for readers
}

ByTimesAlone DigestCache::NotRead() {
  ByTimesAlone found;
  const Lock lock(mutex_);
  for (const auto& [path, entry] : digests_) {
    if (!entry.by_times) continue;
    std::uint64_t bytes = 0;
    for (std::uint64_t range = 0; range < RangesIn(entry.file.size); ++range)
      if (range >= entry.compared.size() || !entry.compared[range])
        bytes += std::min(kCheckedRange, entry.file.size - range * kCheckedRange);
    if (bytes == 0) continue;
    ++found.files;
    found.bytes += bytes;
    found.path = path;
  }
  return found;
}

CachedDigest* DigestCache::Entry(const FileIdentity& file) {
  LoadOnce();
  const auto found = digests_.find(file.path);
  return found == digests_.end() || !(found->second.file == file) ? nullptr : &found->second;
}

void DigestCache::Remember(CachedDigest entry) {
  const Lock lock(mutex_);
  LoadOnce();
  const bool is_kept = entry.is_kept;
  const std::uint64_t bytes = entry.file.size;
  digests_.insert_or_assign(entry.file.path, std::move(entry));
  if (!is_kept) return;
  ++new_files_;
  new_bytes_ += bytes + kBytesOfALine;
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
