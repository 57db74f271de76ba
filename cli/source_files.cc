#include "cli/source_files.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "remote/open_store.h"
#include "remote/part_file.h"
#include "storage/local_file.h"
#include "storage/local_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Tells about a long hashing, or a long transfer, once per so many bytes.
constexpr std::uint64_t kTellEvery = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxJournalBytes = 64 << 10;

std::string IdentityOf(const FileIdentity& identity) {
  return StrCat(identity.size, " ", identity.mtime_ns, " ", identity.inode);
}

/// Names the address without saying it: secrets may stand in a query.
std::string IdentityOf(const std::string& url, std::uint64_t size, const std::string& version) {
  return StrCat(DigestOf(url).ToHex(), " ", size, " ", version);
}

/// "0123456789abcdef-ja.txt.xz": two addresses with one name lie side by side.
std::string PartName(const std::string& url) {
  std::string name = "file";
  if (const Result<Uri> uri = Uri::Parse(url); uri.ok() && !uri->LastPart().empty()) name = uri->LastPart();
  std::replace(name.begin(), name.end(), '\0', '_');
  return StrCat(DigestOf(url).ToHex().substr(0, 16), "-", name.substr(0, 100));
}

Digest DigestOfRemote(const std::string& identity) { return DigestOf(StrCat("remote file 1\n", identity)); }

}  // namespace

SourceFiles::SourceFiles(std::string directory, DigestCache& digests, Network network, Note note)
    : directory_(std::move(directory)), digests_(digests), network_(network), note_(std::move(note)) {}

Result<SourceFile> SourceFiles::Look(const LocalInput& input, std::stop_token stop) {
  if (IsRemote(input.path)) return LookAtRemote(input, std::move(stop));
  // Taken before the bytes are: a change in between shows when the file is read.
  ASSIGN_OR_RETURN(const FileIdentity before, IdentifyFile(input.path));
  std::uint64_t told = 0;
  const HashProgress progress = [&](std::uint64_t done, std::uint64_t of) {
    if (done < told + kTellEvery) return;
    told = done;
    note_(StrCat("reading ", input.name, " once for its digest: ", HumanBytes(done), " of ", HumanBytes(of)));
  };
  ASSIGN_OR_RETURN(const Digest digest, digests_.DigestOfFile(input.path, progress, std::move(stop)));
  ASSIGN_OR_RETURN(const FileIdentity now, IdentifyFile(input.path));
  return SourceFile{input, now.size, digest, IdentityOf(before)};
}

Result<SourceFile> SourceFiles::LookAtRemote(const LocalInput& input, std::stop_token stop) {
  Remote remote;
  if (network_ == Network::kOffline) {
    ASSIGN_OR_RETURN(remote, Remembered(input.path));
  } else {
    ASSIGN_OR_RETURN(const RemoteFile found, OpenRemoteFile(input.path, Patience::kPlan, std::move(stop)));
    remote.size = found.bytes->size();
    remote.identity = IdentityOf(input.path, remote.size, found.version);
  }
  SourceFile file{input, remote.size, DigestOfRemote(remote.identity), remote.identity};
  const std::scoped_lock lock(mutex_);
  remotes_.insert_or_assign(input.path, std::move(remote));
  return file;
}

Result<SourceFiles::Remote> SourceFiles::Remembered(const std::string& url) const {
  LocalStore store(directory_);
  const Result<std::string> text = ReadObject(store, StrCat(PartName(url), ".json"), kMaxJournalBytes);
  if (text.ok()) {
    Result<PartState> state = ParsePartState(*text);
    if (state.ok()) return Remote{std::move(state->identity), state->size, {}};
  }
  return Status(Code::kUnavailable,
                StrCat(ShownUrl(url), ": was not asked for its size and version (--ask does)"));
}

Result<std::shared_ptr<ByteFile>> SourceFiles::Open(const std::string& path, std::stop_token stop) {
  if (IsRemote(path)) return OpenRemote(path, std::move(stop));
  ASSIGN_OR_RETURN(std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  return std::shared_ptr<ByteFile>(std::move(file));
}

Result<std::shared_ptr<ByteFile>> SourceFiles::OpenRemote(const std::string& url, std::stop_token stop) {
  // Not under the lock: a server may take minutes. Two units that open one file at once both ask.
  ASSIGN_OR_RETURN(RemoteFile found, OpenRemoteFile(url, Patience::kRun, std::move(stop)));
  const std::string shown = ShownUrl(url);
  const std::scoped_lock lock(mutex_);
  Remote& remote = remotes_[url];
  if (IdentityOf(url, found.bytes->size(), found.version) != remote.identity)
    return Status(Code::kDataLoss, StrCat(shown, ": changed since this run was planned; run it again"));
  if (std::shared_ptr<ArrivingFile> arriving = remote.arriving.lock())
    return std::shared_ptr<ByteFile>(std::move(arriving));
  Arrival arrival{
      .name = shown,
      .path = StrCat(directory_, "/", PartName(url)),
      .identity = remote.identity,
      // What may turn out wrong at its end is not decoded before: no log line is ever taken back for it.
      .whole_first = found.version.empty() || found.crc32c.has_value(),
      .crc32c = found.crc32c,
      .progress = Teller(shown)};
  ASSIGN_OR_RETURN(std::shared_ptr<ArrivingFile> arriving,
                   ArrivingFile::Begin(std::move(found.bytes), std::move(arrival)));
  remote.arriving = arriving;
  return std::shared_ptr<ByteFile>(std::move(arriving));
}

Result<std::string> SourceFiles::Identity(const std::string& path) {
  if (IsRemote(path)) {
    const std::scoped_lock lock(mutex_);
    const auto found = remotes_.find(path);
    if (found != remotes_.end()) return found->second.identity;
    return Status(Code::kInternal, StrCat(ShownUrl(path), ": was not looked at before it is read"));
  }
  ASSIGN_OR_RETURN(const FileIdentity identity, IdentifyFile(path));
  return IdentityOf(identity);
}

std::function<void(std::uint64_t, std::uint64_t)> SourceFiles::Teller(std::string name) const {
  return [note = note_, name = std::move(name), told = std::uint64_t{0}](std::uint64_t here,
                                                                         std::uint64_t of) mutable {
    if (here < told + kTellEvery) return;
    told = here;
    note(StrCat("fetching ", name, ": ", HumanBytes(here), " of ", HumanBytes(of)));
  };
}

}  // namespace pipeline
