#include "storage/remote/download/source_download.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/damaged_bytes.h"
#include "base/digest.h"
#include "base/str.h"
#include "storage/remote/download/mirrored_file.h"
#include "storage/remote/download/parallel_file.h"
#include "storage/remote/http/compared_bytes.h"
#include "storage/remote/open_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::chrono::milliseconds kReadersPause{10};

/// Names the address by a digest, because a query may have secrets.
std::string IdentityOf(const std::string& url, std::uint64_t size, const std::string& version) {
  return StrCat(DigestOf(url).ToHex(), " ", size, " ", version);
}

/// Returns "0123456789abcdef-ja.txt.xz": the digest tells two addresses with one file name apart. A pinned
/// file has one name for all its addresses.
std::string PartName(const LocalInput& input) {
  const std::string& checksum = input.checksum;
  if (!checksum.empty())
    return StrCat(DigestOf(checksum).ToHex().substr(0, 16), "-", checksum.substr(0, checksum.find(':')));
  std::string name = "file";
  if (const Result<Uri> uri = Uri::Parse(input.path); uri.ok() && !uri->LastPart().empty())
    name = uri->LastPart();
  std::replace(name.begin(), name.end(), '\0', '_');
  return StrCat(DigestOf(input.path).ToHex().substr(0, 16), "-", name.substr(0, 100));
}

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

std::vector<std::string> AddressesOf(const LocalInput& input) {
  std::vector<std::string> urls = {input.path};
  urls.insert(urls.end(), input.mirrors.begin(), input.mirrors.end());
  return urls;
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

/// An encoded body that counts as one of the transfers from its server, and keeps a rate.
class RateLimitedBody final : public ByteReader {
 public:
  RateLimitedBody(std::unique_ptr<ByteReader> body, ServerGate::Place place, std::shared_ptr<RateLimit> rate,
                  std::stop_token stop)
      : place_(std::move(place)), body_(std::move(body)), rate_(std::move(rate)), stop_(std::move(stop)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    if (!rate_) return body_->Read(out);
    RETURN_IF_ERROR(rate_->Wait(stop_));
    ASSIGN_OR_RETURN(const std::size_t got, body_->Read(out.first(std::min(out.size(), rate_->piece()))));
    rate_->Take(got);
    return got;
  }

 private:
  const ServerGate::Place place_;
  const std::unique_ptr<ByteReader> body_;
  const std::shared_ptr<RateLimit> rate_;  // null: no limit
  const std::stop_token stop_;
};

}  // namespace

SourceDownload::SourceDownload(SharedDownloads& shared, LocalInput input)
    : shared_(shared), input_(std::move(input)), part_(StrCat(shared.directory, "/", PartName(input_))) {
  if (input_.rate == 0) return;
  const Lock lock(shared_.mutex);
  std::shared_ptr<RateLimit>& rate = shared_.rates[input_.rate];
  if (!rate) rate = std::make_shared<RateLimit>(input_.rate, SystemClock(), SystemPause());
  rate_ = rate;
}

Status SourceDownload::Look(std::stop_token stop) {
  const std::optional<PartState> before = ReadPartState(part_);
  if (is_pinned()) {
    identity_ = StrCat("pinned ", input_.checksum);
    RETURN_IF_ERROR(LookAtPinned(before, std::move(stop)));
  } else if (!shared_.may_ask) {
    if (!before)
      return Status(Code::kUnavailable,
                    StrCat(ShownUrl(input_.path), ": was not asked for its size and version (--ask does)"));
    identity_ = before->identity, size_ = before->size;
  } else {
    ASSIGN_OR_RETURN(const RemoteFile found, Ask(input_.path, Patience::kPlan, std::move(stop)));
    size_ = found.bytes->size();
    identity_ = IdentityOf(input_.path, size_, found.version);
  }
  if (before && before->identity == identity_) here_ = before->bytes;
  return {};
}

/// Takes the size from the first server that answers. Asks no server if the whole file is here.
Status SourceDownload::LookAtPinned(const std::optional<PartState>& before, std::stop_token stop) {
  const bool is_same = before && before->identity == identity_;
  if (is_same) size_ = before->size;
  if ((is_same && before->bytes == before->size) || !shared_.may_ask) return {};
  Status first;
  std::optional<std::uint64_t> any;
  for (const std::string& url : AddressesOf(input_)) {
    const Result<RemoteFile> found = Ask(url, Patience::kPlan, stop);
    if (found.ok()) {
      const std::uint64_t size = found->bytes->size();
      if (!any) any = size;
      // A part file continues with its own size. If the journal has a size without an identity, the bytes of
      // that size were wrong, so it is the last choice.
      if (is_same ? size != before->size : before && before->identity.empty() && size == before->size)
        continue;
      size_ = size;
      return {};
    }
    if (found.status().code() == Code::kCancelled) return found.status();
    if (!input_.mirrors.empty()) shared_.note(found.status().message());
    if (first.ok()) first = found.status();
  }
  if (!any) return first;
  size_ = *any;
  return {};
}

/// Returns the remote file as it is now. If its server sends it encoded, its readers fail with EncodedBody.
Result<RemoteFile> SourceDownload::Ask(const std::string& url, Patience patience,
                                       std::stop_token stop) const {
  Result<RemoteFile> found = OpenRemoteFile(url, AskOf(input_, patience), std::move(stop));
  const EncodedBody* const encoded = found.status().Detail<EncodedBody>();
  if (encoded == nullptr) return found;
  HttpFacts facts = encoded->facts;
  if (facts.size == 0 && facts.Version().empty() && !is_pinned())
    return Status(Code::kFailedPrecondition,
                  StrCat(ShownUrl(url), ": the server sends it encoded (", facts.coding,
                         ") and tells neither its size nor a version; pin it by `checksum`, or download it"));
  // The size of the decoded file is unknown; it is not empty.
  auto bytes = std::make_shared<EncodedRemote>(std::max<std::uint64_t>(facts.size, 1), found.status());
  std::string version = facts.Version();
  return RemoteFile{std::move(bytes), std::move(version), {}, false, {}, std::move(facts)};
}

Result<std::shared_ptr<ByteFile>> SourceDownload::Open(std::stop_token stop) {
  RemoteFile found;
  if (!is_pinned()) {
    // The lock is not held, because a server may take minutes. If two units open one file at once, both ask.
    ASSIGN_OR_RETURN(found, Ask(input_.path, Patience::kRun, stop));
    if (IdentityOf(input_.path, found.bytes->size(), found.version) != identity_)
      return Status(Code::kDataLoss,
                    StrCat(ShownUrl(input_.path), ": changed since this run was planned; run it again"));
  }
  std::shared_ptr<ArrivingFile> arriving;
  while (!arriving) {
    ASSIGN_OR_RETURN(arriving, Share(found));
    // Readers of dropped bytes end first. They may need the lock for that.
    if (!arriving) RETURN_IF_ERROR(SystemPause().For(kReadersPause, stop));
  }
  RETURN_IF_ERROR(arriving->WaitUntilSized(std::move(stop)));
  return std::shared_ptr<ByteFile>(std::move(arriving));
}

/// Returns the file that arrives, or begins it. Null: its bytes are dropped, and some of their readers have
/// not ended.
Result<std::shared_ptr<ArrivingFile>> SourceDownload::Share(const RemoteFile& found) {
  const Lock lock(shared_.mutex);
  std::weak_ptr<ArrivingFile>& shared = shared_.files[part_];
  if (is_dropped_ && !shared.expired()) return std::shared_ptr<ArrivingFile>();
  if (std::shared_ptr<ArrivingFile> arriving = shared.lock()) return arriving;
  ASSIGN_OR_RETURN(std::shared_ptr<ArrivingFile> arriving, Begin(found));
  shared = arriving;
  came_anew_ = ReadDropNote(part_, identity_).has_value();
  is_dropped_ = false;
  return arriving;
}

/// The callbacks may outlive the caller's pointer to this object, so they hold one.
Result<std::shared_ptr<ArrivingFile>> SourceDownload::Begin(const RemoteFile& found) {
  const auto self = shared_from_this();
  Download download;
  download.name = ShownUrl(input_.path);
  download.path = part_;
  download.identity = identity_;
  download.progress = [self](std::uint64_t here, std::uint64_t of, bool ended) {
    self->shared_.arriving(self->input_.name, here, of, ended);
  };
  std::shared_ptr<const RangedFile> file;
  std::string compared;
  bool in_parts = true;
  if (is_pinned()) {
    ASSIGN_OR_RETURN(download.pin, ParseChecksum(input_.checksum));
    file = BeginPinned(download);
  } else {
    // A file whose end may prove it wrong is not read before its end, because no log line is ever taken back.
    const bool has_sum = found.crc32c.has_value() && !input_.in_part;
    download.whole_first = found.version.empty() || has_sum;
    if (has_sum) download.crc32c = found.crc32c;
    download.ahead = found.bytes;
    download.decoded = [self, facts = found.facts](const Status& failure) {
      return failure.Detail<EncodedBody>() != nullptr ? self->Decoded({self->input_.path}, facts) : nullptr;
    };
    // Without a version, nothing would show that the parts belong to different versions of the file.
    in_parts = found.takes_ranges && !found.version.empty();
    file = Paced(found.bytes, input_.path, true, in_parts);
    compared = download.name;
  }
  auto fetched =
      std::make_shared<ParallelFile>(std::move(file), in_parts ? ConnectionsOf(input_, input_.path) : 1,
                                     ParallelFile::kPart, std::move(compared));
  ASSIGN_OR_RETURN(std::shared_ptr<ArrivingFile> arriving,
                   ArrivingFile::Begin(std::move(fetched), std::move(download)));
  return arriving;
}

/// Asks no server, because the whole file may be here.
std::shared_ptr<const RangedFile> SourceDownload::BeginPinned(Download& download) {
  const bool has_mirrors = !input_.mirrors.empty();
  const auto open = [self = shared_from_this(), has_mirrors](
                        const std::string& url, std::uint64_t size, bool is_last,
                        std::stop_token stop) -> Result<std::shared_ptr<const RangedFile>> {
    RemoteAsk ask = AskOf(self->input_, has_mirrors ? Patience::kNext : Patience::kRun);
    ask.pinned_size = size;
    ASSIGN_OR_RETURN(RemoteFile found, OpenRemoteFile(url, ask, std::move(stop)));
    return self->Paced(std::move(found.bytes), url, is_last, true);
  };
  RetryMeans means{.policy = PolicyOf(AskOf(input_, Patience::kRun))};
  if (!has_mirrors) means.policy.patience = {};  // the reader of the only address waited already
  auto file = std::make_shared<MirroredFile>(AddressesOf(input_), size_, open, shared_.note, means);
  download.invalidate = [file](bool all_came_now) { return file->Invalidate(all_came_now); };
  download.resize = [file] { return file->TakeOtherSize(); };
  download.decoded = [self = shared_from_this(), file](const Status&) {
    std::vector<std::string> urls = file->EncodedAddresses();
    return urls.empty() ? nullptr : self->Decoded(std::move(urls), std::nullopt);
  };
  return file;
}

/// Limits the rate and the connections of `file` as the input says, and enforces the minimum rate.
std::shared_ptr<const RangedFile> SourceDownload::Paced(std::shared_ptr<const RangedFile> file,
                                                        const std::string& url, bool is_last,
                                                        bool may_reconnect) const {
  PacedFile::Pace pace{ServerOf(url), ConnectionsOf(input_, url), shared_.gate, rate_};
  pace.least = input_.least_rate;
  pace.over = std::chrono::seconds(input_.stall);
  pace.name = ShownUrl(url);
  pace.is_last = is_last;
  pace.may_reconnect = may_reconnect;
  pace.compares = !is_pinned();
  pace.note = shared_.note;
  return std::make_shared<PacedFile>(std::move(file), std::move(pace));
}

std::unique_ptr<EncodedFile> SourceDownload::Decoded(std::vector<std::string> urls,
                                                     std::optional<HttpFacts> wanted) const {
  const RemoteAsk ask = AskOf(input_, Patience::kRun);
  const auto open = [self = shared_from_this(), ask, wanted = std::move(wanted)](
                        const std::string& url, std::stop_token stop) -> Result<EncodedTransfer> {
    ASSIGN_OR_RETURN(ServerGate::Place place,
                     self->shared_.gate->Enter(ServerOf(url), ConnectionsOf(self->input_, url), stop));
    ASSIGN_OR_RETURN(EncodedTransfer transfer, OpenEncoded(url, ask, wanted ? &*wanted : nullptr, stop));
    transfer.sent = std::make_unique<RateLimitedBody>(std::move(transfer.sent), std::move(place), self->rate_,
                                                      std::move(stop));
    return transfer;
  };
  return std::make_unique<EncodedFile>(
      EncodedFile{std::move(urls), open, shared_.undo, shared_.note, {.policy = PolicyOf(ask)}});
}

Status SourceDownload::DropDamaged(const Status& why, const std::function<void()>& before) {
  const auto* const damaged = why.Detail<DamagedBytes>();
  const bool other = why.Detail<OtherBytes>() != nullptr;
  // The bytes of a pinned file match its checksum.
  if (is_pinned() || (damaged == nullptr && !other && why.Detail<NoRange>() == nullptr)) return why;
  const std::uint64_t from = damaged != nullptr ? damaged->begin : 0;
  {
    const Lock lock(shared_.mutex);
    if (ReadDropNote(part_, identity_)) {
      if (!came_anew_) return before(), Status();  // another unit found them damaged before
      std::string more = ", once more in this run; run again when it is still";
      if (!other)
        more = StrCat("; it was fetched anew once, and is no better: the server's file is damaged; ",
                      "the download is kept as ", part_);
      if (!other || has_changed_) return Status(why.code(), StrCat(why.message(), more));
    }
    before();
    RETURN_IF_ERROR(WriteDropNote(part_, {identity_, from, false}));
    is_dropped_ = true, came_anew_ = false, has_changed_ = other;
  }
  shared_.note(StrCat(why.message(), "; its bytes here are dropped from byte ", from, " on, and fetched anew",
                      other ? "" : " once"));
  return {};
}

}  // namespace pipeline
