#include "cli/workspace/source_files.h"

#include <utility>

#include "base/checksum.h"
#include "base/digest.h"
#include "base/str.h"
#include "dag/run/segment_unit.h"
#include "formats/compression.h"
#include "storage/local_file.h"
#include "storage/local_store.h"
#include "storage/remote/http/checksum_hasher.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Bytes from one note about a long hashing to the next.
constexpr std::uint64_t kTellEvery = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxChecksumBytes = 64 << 10;
constexpr std::size_t kReadBytes = 1 << 20;

std::string IdentityOf(const FileIdentity& identity) {
  return StrCat(identity.size, " ", identity.mtime_ns, " ", identity.inode, " ", identity.ctime_ns);
}

/// Returns the identity without ctime.
std::string_view WithoutCtime(std::string_view identity) { return identity.substr(0, identity.rfind(' ')); }

Digest DigestOfPinned(const std::string& checksum) { return DigestOf(StrCat(kPinnedFileKind, checksum)); }

Result<Checksum> ChecksumOfFile(const std::string& path, Checksum::Kind kind, std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, file->Open(0, std::move(stop)));
  ChecksumHasher hasher(kind);
  std::string piece(kReadBytes, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) return hasher.Finish();
    hasher.Update(std::string_view(piece).substr(0, got));
  }
}

}  // namespace

SourceFiles::SourceFiles(std::string directory, DigestCache& digests, Network network, Progress& progress)
    : digests_(digests),
      network_(network),
      progress_(progress),
      downloads_{std::move(directory), network == Network::kMayAsk,
                 [&progress](std::string_view line) { progress.Note(line); },
                 [&progress](const std::string& name, std::uint64_t here, std::uint64_t of, bool ended) {
                   progress.Arriving(name, here, of, ended);
                 },
                 NewContentDecoder} {}

Result<std::vector<LocalInput>> SourceFiles::Find(const LocalInput& pattern, std::stop_token stop) const {
  if (network_ == Network::kOffline)
    return Status(Code::kUnavailable, StrCat(pattern.path, ": is not listed here; --ask lists it"));
  ASSIGN_OR_RETURN(const std::vector<std::string> found, FindRemoteFiles(pattern.path, std::move(stop)));
  if (found.size() > 1 && !pattern.checksum.empty())
    return Status(Code::kInvalidArgument, StrCat(pattern.path, ": stands for ", found.size(),
                                                 " objects, and a checksum is that of one; name them one "
                                                 "by one"));
  std::vector<LocalInput> inputs;
  for (const std::string& url : found) {
    LocalInput& input = inputs.emplace_back(pattern);
    input.path = url;
    input.name = url.substr(url.rfind('/') + 1);
    input.is_pattern = false;
  }
  return inputs;
}

Result<SourceFile> SourceFiles::Look(const LocalInput& input, std::stop_token stop) {
  Result<SourceFile> file =
      IsRemote(input.path) ? LookAtRemote(input, std::move(stop)) : LookAtLocal(input, std::move(stop));
  if (file.ok() || input.checksum.empty()) return file;
  return std::move(file).status().With(std::make_shared<PinnedDigest>(DigestOfPinned(input.checksum)));
}

Result<SourceFile> SourceFiles::LookAtLocal(const LocalInput& input, std::stop_token stop) {
  // The identity is taken before the digest, so that a later reader notices a change in between.
  ASSIGN_OR_RETURN(const FileIdentity before, IdentifyFile(input.path));
  std::uint64_t told = 0;
  const HashProgress progress = [&](std::uint64_t done, std::uint64_t of) {
    if (done < told + kTellEvery) return;
    told = done;
    progress_.Note(
        StrCat("reading ", input.name, " once for its digest: ", HumanBytes(done), " of ", HumanBytes(of)));
  };
  ASSIGN_OR_RETURN(const Digest digest, digests_.DigestOfFile(input.path, progress, stop));
  ASSIGN_OR_RETURN(const FileIdentity now, IdentifyFile(input.path));
  if (input.checksum.empty()) return SourceFile{input, now.size, digest, IdentityOf(before)};
  RETURN_IF_ERROR(CheckPin(input, digest, std::move(stop)));
  return SourceFile{input, now.size, DigestOfPinned(input.checksum), IdentityOf(before)};
}

/// The checksum of bytes with this digest is stored beside the part files, so that the file is read for it
/// only once.
Status SourceFiles::CheckPin(const LocalInput& input, const Digest& digest, std::stop_token stop) const {
  ASSIGN_OR_RETURN(const Checksum wanted, ParseChecksum(input.checksum));
  LocalStore store(downloads_.directory);
  const std::string name = StrCat(digest.ToHex(), ".", input.checksum.substr(0, input.checksum.find(':')));
  std::string found;
  if (const Result<std::string> known = ReadObject(store, name, kMaxChecksumBytes);
      known.ok() && ParseChecksum(*known).ok()) {
    found = *known;
  } else {
    progress_.Note(StrCat("reading ", input.name, " once for its checksum"));
    ASSIGN_OR_RETURN(const Checksum computed, ChecksumOfFile(input.path, wanted.kind, std::move(stop)));
    found = ToString(computed);
    if (network_ == Network::kMayAsk)  // an offline run leaves no files
      RETURN_IF_ERROR(WriteObject(store, name, found, Condition::ReplaceAny()).status());
  }
  if (found == ToString(wanted)) return {};
  return Status(Code::kDataLoss,
                StrCat(input.path, ": is not the file that it is pinned to: ", ToString(wanted),
                       " was wanted, and it has ", found, "; check `checksum`, or get the file anew"));
}

Result<SourceFile> SourceFiles::LookAtRemote(const LocalInput& input, std::stop_token stop) {
  auto download = std::make_shared<SourceDownload>(downloads_, input);
  RETURN_IF_ERROR(download->Look(std::move(stop)));
  const Digest digest = input.checksum.empty() ? DigestOf(StrCat(kRemoteFileKind, download->identity()))
                                               : DigestOfPinned(input.checksum);
  SourceFile file{input, download->size(), digest, download->identity(), download->here()};
  const Lock lock(mutex_);
  std::shared_ptr<SourceDownload>& known = remotes_[input.path];
  if (known && known->input().checksum != input.checksum)
    return Status(Code::kInvalidArgument,
                  StrCat(ShownUrl(input.path),
                         ": is named in two places with different `checksum`; write the same in both"));
  known = std::move(download);
  return file;
}

Result<std::shared_ptr<SourceDownload>> SourceFiles::DownloadOf(const std::string& url) {
  const Lock lock(mutex_);
  if (const auto found = remotes_.find(url); found != remotes_.end()) return found->second;
  return Status(Code::kInternal, StrCat(ShownUrl(url), ": was not looked at before it is read"));
}

Result<std::shared_ptr<ByteFile>> SourceFiles::Open(const std::string& path, std::stop_token stop) {
  if (IsRemote(path)) {
    ASSIGN_OR_RETURN(const std::shared_ptr<SourceDownload> download, DownloadOf(path));
    return download->Open(std::move(stop));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  const auto differs = [path](const std::string& real_path, std::uint64_t begin, std::uint64_t end) {
    return ChangedInSilence(path, real_path, begin, end);
  };
  return std::shared_ptr<ByteFile>(digests_.Checked(std::move(file), differs));
}

Status SourceFiles::DropDamaged(const std::string& path, const Status& why,
                                const std::function<void()>& before) {
  if (!IsRemote(path)) return why;
  ASSIGN_OR_RETURN(const std::shared_ptr<SourceDownload> download, DownloadOf(path));
  return download->DropDamaged(why, before);
}

Result<std::string> SourceFiles::Identity(const std::string& path) {
  if (IsRemote(path)) {
    ASSIGN_OR_RETURN(const std::shared_ptr<SourceDownload> download, DownloadOf(path));
    return download->identity();
  }
  ASSIGN_OR_RETURN(const FileIdentity identity, IdentifyFile(path));
  return IdentityOf(identity);
}

Result<bool> SourceFiles::IsUnchanged(const SourceFile& file, const std::string& before,
                                      std::stop_token stop) {
  ASSIGN_OR_RETURN(const std::string now, Identity(file.input.path));
  if (now == before) return true;
  if (IsRemote(file.input.path) || WithoutCtime(now) != WithoutCtime(before)) return false;
  const Result<SourceFile> found = Look(file.input, std::move(stop));
  if (!found.ok() && found.status().code() != Code::kDataLoss) return found.status();
  // kDataLoss: the file changes at this moment, or no longer matches its checksum.
  return found.ok() && found->digest == file.digest;
}

}  // namespace pipeline
