#include "cli/workspace/source_files.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/damaged_bytes.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/str.h"
#include "cli/workspace/part_name.h"
#include "dag/plan/vanished_source.h"
#include "dag/run/segment_unit.h"
#include "formats/content_coding.h"
#include "storage/local_file.h"
#include "storage/local_store.h"
#include "storage/remote/http/checksum_hasher.h"
#include "storage/remote/http/compared_bytes.h"
#include "storage/remote/http/mirrored_file.h"
#include "storage/remote/http/paced_file.h"
#include "storage/remote/http/parallel_file.h"
#include "storage/remote/http/part_file.h"
#include "storage/remote/http/retry.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// Bytes from one note about a long hashing to the next.
constexpr std::uint64_t kTellEvery = std::uint64_t{4} << 30;
constexpr std::uint64_t kMaxJournalBytes = 64 << 10;
constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::chrono::milliseconds kReadersPause{10};

std::string IdentityOf(const FileIdentity& identity) {
  return StrCat(identity.size, " ", identity.mtime_ns, " ", identity.inode, " ", identity.ctime_ns);
}

/// Returns the identity without ctime.
std::string_view WithoutCtime(std::string_view identity) { return identity.substr(0, identity.rfind(' ')); }

/// Names the address by a digest, because a query may have secrets.
std::string IdentityOf(const std::string& url, std::uint64_t size, const std::string& version) {
  return StrCat(DigestOf(url).ToHex(), " ", size, " ", version);
}

Digest DigestOfRemote(const std::string& identity) { return DigestOf(StrCat(kRemoteFileKind, identity)); }
Digest DigestOfPinned(const std::string& checksum) { return DigestOf(StrCat(kPinnedFileKind, checksum)); }

/// Returns the server whose transfers are counted together; all buckets of a scheme have one server.
std::string ServerOf(const std::string& url) {
  const Result<Uri> uri = Uri::Parse(url);
  if (!uri.ok()) return {};
  if (uri->scheme->form == Scheme::Form::kBucket) return std::string(uri->scheme->name);
  return uri->authority.substr(uri->authority.rfind('@') + 1);
}

int ConnectionsOf(const LocalInput& input, const std::string& url) {
  if (input.connections > 0) return input.connections;
  const Result<Uri> uri = Uri::Parse(url);
  return uri.ok() ? uri->scheme->connections : 1;
}

RemoteAsk AskOf(const LocalInput& input, Patience patience) {
  return {patience, std::chrono::seconds(input.stall), std::chrono::seconds(input.silence)};
}

/// A remote file before its download that its server sends only encoded.
class EncodedRemote final : public RangedFile {
 public:
  EncodedRemote(std::uint64_t size, Status why) : size_(size), why_(std::move(why)) {}
  std::uint64_t size() const override { return size_; }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t, std::uint64_t,
                                                std::stop_token) const override {
    return why_;
  }

 private:
  const std::uint64_t size_;
  const Status why_;
};

/// A body that counts as one of the transfers from its server, and keeps a rate.
class RateLimitedBody final : public ByteReader {
 public:
  RateLimitedBody(std::unique_ptr<ByteReader> body, std::unique_ptr<ServerGate::Place> location,
                  std::shared_ptr<RateLimit> rate, std::stop_token stop)
      : location_(std::move(location)),
        body_(std::move(body)),
        rate_(std::move(rate)),
        stop_(std::move(stop)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    if (!rate_) return body_->Read(out);
    RETURN_IF_ERROR(rate_->Wait(stop_));
    ASSIGN_OR_RETURN(const std::size_t got, body_->Read(out.first(std::min(out.size(), kRateLimitedBytes))));
    rate_->Take(got);
    return got;
  }

 private:
  static constexpr std::size_t kRateLimitedBytes = std::size_t{16} << 10;
  const std::unique_ptr<ServerGate::Place> location_;
  const std::unique_ptr<ByteReader> body_;
  const std::shared_ptr<RateLimit> rate_;  // null: no limit
  const std::stop_token stop_;
};

std::vector<std::string> AddressesOf(const LocalInput& input) {
  std::vector<std::string> urls = {input.path};
  urls.insert(urls.end(), input.mirrors.begin(), input.mirrors.end());
  return urls;
}

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
    : directory_(std::move(directory)), digests_(digests), network_(network), progress_(progress) {}

Result<std::vector<LocalInput>> SourceFiles::Find(const LocalInput& pattern, std::stop_token stop) const {
  if (network_ == Network::kOffline)
    return Status(Code::kUnavailable, StrCat(pattern.path, ": was not asked for its objects (--ask does)"));
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
  LocalStore store(directory_);
  const std::string name = StrCat(digest.ToHex(), ".", input.checksum.substr(0, input.checksum.find(':')));
  std::string found;
  if (const Result<std::string> known = ReadObject(store, name, kMaxJournalBytes);
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
  Remote remote{input, {}};
  const std::optional<PartState> part = Journal(input);
  if (!input.checksum.empty()) {
    ASSIGN_OR_RETURN(remote, LookAtPinned(input, std::move(stop)));
  } else if (network_ == Network::kOffline) {
    if (!part)
      return Status(Code::kUnavailable,
                    StrCat(ShownUrl(input.path), ": was not asked for its size and version (--ask does)"));
    remote.identity = part->identity, remote.size = part->size;
  } else {
    ASSIGN_OR_RETURN(const RemoteFile found, Ask(input, Patience::kPlan, std::move(stop)));
    remote.size = found.bytes->size();
    remote.identity = IdentityOf(input.path, remote.size, found.version);
  }
  const Digest digest =
      input.checksum.empty() ? DigestOfRemote(remote.identity) : DigestOfPinned(input.checksum);
  SourceFile file{input, remote.size, digest, remote.identity};
  if (part && part->identity == remote.identity) file.here = part->bytes;
  const Lock lock(mutex_);
  const auto [known, is_new] = remotes_.try_emplace(input.path, remote);
  if (!is_new && known->second.input.checksum != input.checksum)
    return Status(Code::kInvalidArgument,
                  StrCat(ShownUrl(input.path),
                         ": is named in two places with different `checksum`; write the same in both"));
  known->second = std::move(remote);
  return file;
}

/// Takes the size from the first server that answers. Asks no server if the whole file is here.
Result<SourceFiles::Remote> SourceFiles::LookAtPinned(const LocalInput& input, std::stop_token stop) const {
  Remote remote{input, StrCat("pinned ", input.checksum)};
  const std::optional<PartState> before = Journal(input);
  if (before && before->identity == remote.identity) remote.size = before->size;
  const bool is_whole = before && before->identity == remote.identity && before->bytes == before->size;
  if (is_whole || network_ == Network::kOffline) return remote;
  Status first;
  std::optional<std::uint64_t> any;
  for (const std::string& url : AddressesOf(input)) {
    LocalInput at = input;
    at.path = url;
    const Result<RemoteFile> found = Ask(at, Patience::kPlan, stop);
    if (found.ok()) {
      const std::uint64_t size = found->bytes->size();
      if (!any) any = size;
      // A part file continues with its own size. If the journal has a size without an identity, the bytes of
      // that size were wrong, so it is the last choice.
      const bool is_same = before && before->identity == remote.identity;
      if (is_same ? size != before->size : before && before->identity.empty() && size == before->size)
        continue;
      remote.size = size;
      return remote;
    }
    if (found.status().code() == Code::kCancelled) return found.status();
    if (!input.mirrors.empty()) progress_.Note(found.status().message());
    if (first.ok()) first = found.status();
  }
  if (!any) return first;
  remote.size = *any;
  return remote;
}

std::optional<PartState> SourceFiles::Journal(const LocalInput& input) const {
  LocalStore store(directory_);
  const Result<std::string> text = ReadObject(store, StrCat(PartName(input), ".json"), kMaxJournalBytes);
  if (!text.ok()) return std::nullopt;
  Result<PartState> state = ParsePartState(*text);
  return state.ok() ? std::optional(*std::move(state)) : std::nullopt;
}

Result<std::shared_ptr<ByteFile>> SourceFiles::Open(const std::string& path, std::stop_token stop) {
  if (IsRemote(path)) return OpenRemote(path, std::move(stop));
  ASSIGN_OR_RETURN(std::unique_ptr<LocalFile> file, LocalFile::Open(path));
  const auto differs = [path](const std::string& real_path, std::uint64_t begin, std::uint64_t end) {
    return ChangedInSilence(path, real_path, begin, end);
  };
  return std::shared_ptr<ByteFile>(digests_.Checked(std::move(file), differs));
}

Result<std::shared_ptr<ByteFile>> SourceFiles::OpenRemote(const std::string& url, std::stop_token stop) {
  LocalInput input;
  {
    const Lock lock(mutex_);
    if (const auto looked_at = remotes_.find(url); looked_at != remotes_.end())
      input = looked_at->second.input;
  }
  input.path = url;
  RemoteFile found;
  if (input.checksum.empty()) {
    // The lock is not held, because a server may take minutes. If two units open one file at once, both ask.
    ASSIGN_OR_RETURN(found, Ask(input, Patience::kRun, stop));
  }
  std::shared_ptr<ArrivingFile> arriving;
  while (!arriving) {
    ASSIGN_OR_RETURN(arriving, Share(url, found));
    // Readers of dropped bytes end first. They may need the lock for that.
    if (!arriving) RETURN_IF_ERROR(SystemPause().For(kReadersPause, stop));
  }
  RETURN_IF_ERROR(arriving->WaitUntilSized(std::move(stop)));
  return std::shared_ptr<ByteFile>(std::move(arriving));
}

/// Returns the file that arrives, or begins it. Null: its bytes are dropped, and some of their readers have
/// not ended.
Result<std::shared_ptr<ArrivingFile>> SourceFiles::Share(const std::string& url, const RemoteFile& found) {
  const Lock lock(mutex_);
  Remote& remote = remotes_[url];
  const bool is_pinned = !remote.input.checksum.empty();
  if (!is_pinned && IdentityOf(url, found.bytes->size(), found.version) != remote.identity)
    return Status(Code::kDataLoss,
                  StrCat(ShownUrl(url), ": changed since this run was planned; run it again"));
  std::weak_ptr<ArrivingFile>& shared = arriving_[PartName(remote.input)];
  if (remote.is_dropped && !shared.expired()) return std::shared_ptr<ArrivingFile>();
  if (std::shared_ptr<ArrivingFile> arriving = shared.lock()) return arriving;
  ASSIGN_OR_RETURN(std::shared_ptr<ArrivingFile> arriving,
                   is_pinned ? BeginPinned(remote) : BeginVersion(remote, found));
  shared = arriving;
  remote.came_anew = ReadDropNote(PartPath(remote.input), remote.identity).has_value();
  remote.is_dropped = false;
  return arriving;
}

/// Returns the remote file as it is now. If its server sends it encoded, its readers fail with EncodedBody.
Result<RemoteFile> SourceFiles::Ask(const LocalInput& input, Patience patience, std::stop_token stop) const {
  Result<RemoteFile> found = OpenRemoteFile(input.path, AskOf(input, patience), std::move(stop));
  const EncodedBody* const encoded = found.status().Detail<EncodedBody>();
  if (encoded == nullptr) return found;
  HttpFacts facts = encoded->facts;
  if (facts.size == 0 && facts.Version().empty() && input.checksum.empty())
    return Status(Code::kFailedPrecondition,
                  StrCat(ShownUrl(input.path), ": the server sends it encoded (", facts.coding,
                         ") and tells neither its size nor a version; pin it by `checksum`, or download it"));
  // The size of the decoded file is unknown; it is not empty.
  auto bytes = std::make_shared<EncodedRemote>(std::max<std::uint64_t>(facts.size, 1), found.status());
  std::string version = facts.Version();
  return RemoteFile{std::move(bytes), std::move(version), {}, false, {}, std::move(facts)};
}

std::unique_ptr<EncodedFile> SourceFiles::Decoded(const LocalInput& input, std::vector<std::string> urls,
                                                  std::optional<HttpFacts> wanted) {
  EncodedFile::Means means;
  const RemoteAsk ask = AskOf(input, Patience::kRun);
  means.open = [this, input, ask, wanted](const std::string& url,
                                          std::stop_token stop) -> Result<EncodedTransfer> {
    ASSIGN_OR_RETURN(std::unique_ptr<ServerGate::Place> location,
                     gate_->Enter(ServerOf(url), ConnectionsOf(input, url), stop));
    ASSIGN_OR_RETURN(EncodedTransfer transfer, OpenEncoded(url, ask, wanted ? &*wanted : nullptr, stop));
    transfer.sent = std::make_unique<RateLimitedBody>(std::move(transfer.sent), std::move(location),
                                                      RateOf(input), std::move(stop));
    return transfer;
  };
  means.undo = NewContentDecoder;
  means.note = [this](std::string_view line) { progress_.Note(line); };
  means.retry.policy = PolicyOf(ask);
  return std::make_unique<EncodedFile>(std::move(urls), std::move(means));
}

/// Asks no server, because the whole file may be here.
Result<std::shared_ptr<ArrivingFile>> SourceFiles::BeginPinned(const Remote& remote) {
  const LocalInput& input = remote.input;
  const bool has_mirrors = !input.mirrors.empty();
  // The thread of the file calls it later, and ends before this object does.
  const auto open = [this, input, has_mirrors](
                        const std::string& url, std::uint64_t size, bool is_last,
                        std::stop_token stop) -> Result<std::shared_ptr<const RangedFile>> {
    RemoteAsk ask = AskOf(input, has_mirrors ? Patience::kNext : Patience::kRun);
    ask.pinned_size = size;
    ASSIGN_OR_RETURN(RemoteFile found, OpenRemoteFile(url, ask, std::move(stop)));
    const Position position = is_last ? Position::kLast : Position::kBeforeOthers;
    return RateLimited(std::move(found.bytes), url, input, position, true);
  };
  RetryMeans means{.policy = PolicyOf(AskOf(input, Patience::kRun))};
  if (!has_mirrors) means.policy.patience = {};  // the reader of the only address waited already
  auto file = std::make_shared<MirroredFile>(
      AddressesOf(input), remote.size, open, [this](std::string_view line) { progress_.Note(line); }, means);
  Download download = DownloadOf(remote);
  ASSIGN_OR_RETURN(download.pin, ParseChecksum(input.checksum));
  download.invalidate = [file](bool all_came_now) { return file->Invalidate(all_came_now); };
  download.resize = [file] { return file->TakeOtherSize(); };
  download.decoded = [this, file, input](const Status&) {
    std::vector<std::string> urls = file->EncodedAddresses();
    return urls.empty() ? nullptr : Decoded(input, std::move(urls), std::nullopt);
  };
  auto fetched = std::make_shared<ParallelFile>(std::move(file), ConnectionsOf(input, input.path));
  ASSIGN_OR_RETURN(std::unique_ptr<ArrivingFile> arriving,
                   ArrivingFile::Begin(std::move(fetched), std::move(download)));
  return std::shared_ptr<ArrivingFile>(std::move(arriving));
}

Result<std::shared_ptr<ArrivingFile>> SourceFiles::BeginVersion(const Remote& remote,
                                                                const RemoteFile& found) {
  const std::string& url = remote.input.path;
  Download download = DownloadOf(remote);
  // A file whose end may prove it wrong is not read before its end, because no log line is ever taken back.
  const bool has_sum = found.crc32c.has_value() && !remote.input.in_part;
  download.whole_first = found.version.empty() || has_sum;
  if (has_sum) download.crc32c = found.crc32c;
  download.ahead = found.bytes;
  download.decoded = [this, input = remote.input, facts = found.facts](const Status& failure) {
    return failure.Detail<EncodedBody>() != nullptr ? Decoded(input, {input.path}, facts) : nullptr;
  };
  // Without a version, nothing would show that the parts belong to different versions of the file.
  const bool in_parts = found.takes_ranges && !found.version.empty();
  auto fetched = std::make_shared<ParallelFile>(
      RateLimited(found.bytes, url, remote.input, Position::kLast, in_parts),
      in_parts ? ConnectionsOf(remote.input, url) : 1, ParallelFile::kPart, download.name);
  ASSIGN_OR_RETURN(std::unique_ptr<ArrivingFile> arriving,
                   ArrivingFile::Begin(std::move(fetched), std::move(download)));
  return std::shared_ptr<ArrivingFile>(std::move(arriving));
}

std::string SourceFiles::PartPath(const LocalInput& input) const {
  return StrCat(directory_, "/", PartName(input));
}

Status SourceFiles::DropDamaged(const std::string& path, const Status& why,
                                const std::function<void()>& before) {
  const auto* const damaged = why.Detail<DamagedBytes>();
  const bool other = why.Detail<OtherBytes>() != nullptr;
  if (!IsRemote(path) || (damaged == nullptr && !other && why.Detail<NoRange>() == nullptr)) return why;
  const std::uint64_t from = damaged != nullptr ? damaged->begin : 0;
  {
    const Lock lock(mutex_);
    const auto found = remotes_.find(path);
    // The bytes of a pinned file match its checksum.
    if (found == remotes_.end() || !found->second.input.checksum.empty()) return why;
    Remote& remote = found->second;
    const std::string part = PartPath(remote.input);
    if (ReadDropNote(part, remote.identity)) {
      if (!remote.came_anew) return before(), Status();  // another unit found them damaged before
      std::string more = ", once more in this run; run again when it is still";
      if (!other)
        more = StrCat("; it was fetched anew once, and is no better: the server's file is damaged; ",
                      "the download is kept as ", part);
      if (!other || remote.has_changed) return Status(why.code(), StrCat(why.message(), more));
    }
    before();
    RETURN_IF_ERROR(WriteDropNote(part, {remote.identity, from, false}));
    remote.is_dropped = true, remote.came_anew = false, remote.has_changed = other;
  }
  progress_.Note(StrCat(why.message(), "; its bytes here are dropped from byte ", from,
                        " on, and fetched anew", other ? "" : " once"));
  return {};
}

Download SourceFiles::DownloadOf(const Remote& remote) const {
  Download download;
  download.name = ShownUrl(remote.input.path);
  download.path = PartPath(remote.input);
  download.identity = remote.identity;
  download.progress = [&progress = progress_, name = remote.input.name](std::uint64_t here, std::uint64_t of,
                                                                        bool ended) {
    progress.Arriving(name, here, of, ended);
  };
  return download;
}

std::shared_ptr<const RangedFile> SourceFiles::RateLimited(std::shared_ptr<const RangedFile> file,
                                                           const std::string& url, const LocalInput& input,
                                                           Position position, bool may_reconnect) {
  PacedFile::Pace pace;
  pace.least = {input.least_rate, std::chrono::seconds(input.stall)};
  pace.name = ShownUrl(url);
  pace.is_last = position == Position::kLast;
  pace.may_reconnect = may_reconnect;
  pace.compares = input.checksum.empty();
  pace.note = [this](std::string_view line) { progress_.Note(line); };
  file = std::make_shared<PacedFile>(std::move(file), std::move(pace));
  RateLimitedFile::Manners manners{ServerOf(url), ConnectionsOf(input, url), gate_, RateOf(input)};
  return std::make_shared<RateLimitedFile>(std::move(file), std::move(manners));
}

std::shared_ptr<RateLimit> SourceFiles::RateOf(const LocalInput& input) {
  if (input.rate == 0) return nullptr;
  const Lock lock(rates_mutex_);
  std::shared_ptr<RateLimit>& rate = rates_[input.rate];
  if (!rate) rate = std::make_shared<RateLimit>(input.rate, SystemClock(), SystemPause());
  return rate;
}

Result<std::string> SourceFiles::Identity(const std::string& path) {
  if (IsRemote(path)) {
    const Lock lock(mutex_);
    const auto found = remotes_.find(path);
    if (found != remotes_.end()) return found->second.identity;
    return Status(Code::kInternal, StrCat(ShownUrl(path), ": was not looked at before it is read"));
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
