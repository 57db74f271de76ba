#include "storage/digest_cache.h"

#include <stdlib.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "storage/local_error.h"

namespace pipeline {

namespace {

constexpr std::string_view kFirstLine = "pipe digests 1\n";
constexpr std::uint64_t kMaxCacheBytes = 64 << 20;
constexpr std::int64_t kStillForMillis = 2000;  // the coarsest mtime in use, FAT's
constexpr std::size_t kReadBytes = 1 << 20;

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

/// Cuts the text up to the next space off `line`.
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

}  // namespace

DigestCache::DigestCache(Store& store, std::string name, const Clock& clock)
    : store_(store), name_(std::move(name)), clock_(clock) {}

Result<Digest> DigestCache::DigestOfFile(const std::string& path, const HashProgress& progress,
                                         std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::string real_path, RealPath(path));
  const std::int64_t began_ms = clock_.UnixMillis();
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(real_path));
  if (const auto known = FindEntry(file->identity())) return *known;

  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, std::move(stop)));
  Hasher hasher;
  std::string piece(kReadBytes, '\0');
  for (std::uint64_t done = 0;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) break;
    hasher.Update(std::string_view(piece).substr(0, got));
    done += got;
    if (progress) progress(done, file->size());
  }
  const Digest digest = hasher.Finish();
  if (file->identity().mtime_ns / 1'000'000 + kStillForMillis <= began_ms)
    Remember(file->identity(), digest);
  return digest;
}

Result<std::optional<Digest>> DigestCache::Find(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string real_path, RealPath(path));
  ASSIGN_OR_RETURN(const FileIdentity identity, IdentifyFile(real_path));
  return FindEntry(identity);
}

std::optional<Digest> DigestCache::FindEntry(const FileIdentity& identity) {
  const std::scoped_lock lock(mutex_);
  LoadOnce();
  const auto found = entries_.find(identity.path);
  if (found == entries_.end() || !(found->second.identity == identity)) return std::nullopt;
  return found->second.digest;
}

void DigestCache::Remember(const FileIdentity& identity, const Digest& digest) {
  const std::scoped_lock lock(mutex_);
  LoadOnce();
  entries_.insert_or_assign(identity.path, Entry{identity, digest});
  const Result<ObjectInfo> written = WriteObject(store_, name_, Format(entries_), Condition::ReplaceAny());
  if (!written.ok())
    LogWarning(StrCat("the digest of ", identity.path, " is not remembered: ", written.status().message()));
}

void DigestCache::LoadOnce() {
  if (loaded_) return;
  loaded_ = true;
  const Result<std::string> text = ReadObject(store_, name_, kMaxCacheBytes);
  if (text.ok()) {
    entries_ = Parse(*text);
  } else if (text.status().code() != Code::kNotFound) {
    LogWarning(StrCat("files are hashed anew: ", text.status().message()));
  }
}

DigestCache::Entries DigestCache::Parse(std::string_view text) {
  Entries entries;
  if (text.substr(0, kFirstLine.size()) != kFirstLine) return entries;
  text.remove_prefix(kFirstLine.size());
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    std::string_view line = text.substr(0, end);
    const std::string_view check = NextField(line);
    if (check != Hex8(Crc32c(line))) continue;
    const std::optional<Digest> digest = Digest::FromHex(NextField(line));
    Entry entry;
    FileIdentity& identity = entry.identity;
    if (!digest || !ParseNumber(NextField(line), identity.size) ||
        !ParseNumber(NextField(line), identity.mtime_ns) || !ParseNumber(NextField(line), identity.inode))
      continue;
    const Result<Json> path = Json::Parse(line);
    if (!path.ok() || !path->is_string()) continue;
    identity.path = path->AsString();
    entry.digest = *digest;
    entries.insert_or_assign(identity.path, std::move(entry));
  }
  return entries;
}

std::string DigestCache::Format(const Entries& entries) {
  std::string text(kFirstLine);
  for (const auto& [path, entry] : entries) {
    std::string line = StrCat(entry.digest.ToHex(), ' ', entry.identity.size, ' ', entry.identity.mtime_ns,
                              ' ', entry.identity.inode, ' ');
    AppendJsonString(line, path);
    text += StrCat(Hex8(Crc32c(line)), ' ', line, '\n');
  }
  return text;
}

}  // namespace pipeline
