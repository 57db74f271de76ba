#include "storage/remote/http/arriving_file.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/byte_reader.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/remote/http/compared_bytes.h"
#include "storage/remote/http/http_facts.h"

namespace pipeline {

namespace {

constexpr std::size_t kArrivingPiece = std::size_t{1} << 20;
/// A crash of the machine loses the bytes since the last sync, which comes after so many bytes or so much
/// time.
constexpr std::uint64_t kSyncBytes = std::uint64_t{64} << 20;
constexpr std::chrono::seconds kSyncTime{2};
/// The index of an archive is so near the end of the file that a reader this far ahead of the download does
/// not wait for it. All other readers wait; otherwise every block of a file that is decoded in parallel would
/// be downloaded twice.
constexpr std::uint64_t kTail = std::uint64_t{1} << 20;

}  // namespace

class ArrivingFile::Reader final : public RepeatingReader {
 public:
  Reader(const ArrivingFile& file, std::uint64_t offset, std::stop_token stop)
      : file_(file), offset_(offset), stop_(std::move(stop)) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    Result<std::size_t> got = ReadPiece(out.first(std::min(out.size(), kArrivingPiece)));
    if (got.ok()) {
      offset_ += *got;
      return got;
    }
    if (got.status().Detail<StatusDetail>() != nullptr) return got;
    return std::move(got).status().With(std::make_shared<NotArrived>());
  }

  Result<std::size_t> ReadPiece(std::span<char> out) {
    if (stop_.stop_requested()) return Stopped();
    if (offset_ >= file_.size() || file_.download_.whole_first || file_.download_.pin) {
      RETURN_IF_ERROR(file_.WaitUntilWhole(stop_));
      if (offset_ >= file_.size()) return std::size_t{0};
    }
    ASSIGN_OR_RETURN(const std::uint64_t here, WaitForMore());
    if (offset_ < here) {
      ahead_.reset();
      const std::uint64_t there = here - offset_;
      ASSIGN_OR_RETURN(const std::size_t got,
                       file_.part_->ReadAt(offset_, out.first(std::min<std::uint64_t>(out.size(), there))));
      if (got > 0) return got;
      return Status(Code::kDataLoss, StrCat(file_.part_->path(), ": ends at byte ", offset_, " of ", here,
                                            ": somebody cut it; run again"));
    }
    if (ahead_ == nullptr) {
      const ByteFile& ahead = file_.download_.ahead ? *file_.download_.ahead : *file_.remote_;
      ASSIGN_OR_RETURN(ahead_, ahead.Open(offset_, stop_));
    }
    return ahead_->Read(out);
  }

  /// Returns the number of downloaded bytes: more than `offset_`, or far fewer if the reader does not wait.
  Result<std::uint64_t> WaitForMore() const {
    Lock lock(file_.mutex_);
    const auto decided = [this]() REQUIRES(file_.mutex_) {
      return offset_ < file_.here_ || file_.ended_ ||
             (file_.size() - offset_ <= kTail && offset_ - file_.here_ > kTail);
    };
    if (!file_.changed_.Wait(lock, stop_, decided)) return Stopped();
    if (offset_ < file_.here_ || !file_.ended_) return file_.here_;
    return file_.failure_;
  }

  Status Stopped() const {
    return Status(Code::kCancelled, StrCat(file_.download_.name, ": reading was stopped"));
  }

  const ArrivingFile& file_;
  std::uint64_t offset_;
  std::stop_token stop_;
  // Reads the remote file at `offset_`; null: no reader runs ahead of the download.
  std::unique_ptr<ByteReader> ahead_;
};

Result<std::unique_ptr<ArrivingFile>> ArrivingFile::Begin(std::shared_ptr<const ByteFile> remote,
                                                          Download download) {
  const auto open = download.among_others ? &PartFile::OpenAmongOthers : &PartFile::Open;
  ASSIGN_OR_RETURN(std::unique_ptr<PartFile> part, open(download.path, download.identity, remote->size()));
  // Nothing would show that the rest belongs to another version.
  if (download.whole_first && !download.crc32c && !download.pin && !part->is_whole())
    RETURN_IF_ERROR(part->Empty());
  std::unique_ptr<ArrivingFile> file(
      new ArrivingFile(std::move(remote), std::move(download), std::move(part)));
  file->thread_ = std::jthread([raw = file.get()](std::stop_token stop) { raw->Fetch(std::move(stop)); });
  return file;
}

ArrivingFile::ArrivingFile(std::shared_ptr<const ByteFile> remote, Download download,
                           std::unique_ptr<PartFile> part)
    : remote_(std::move(remote)),
      download_(std::move(download)),
      part_(std::move(part)),
      unproved_(download_.pin || part_->is_whole() ? 0 : part_->state().bytes),
      size_(part_->state().size),
      here_(unproved_ > 0 ? 0 : part_->state().bytes),
      sized_(part_->is_whole() && !download_.pin) {}

ArrivingFile::~ArrivingFile() = default;

Result<std::unique_ptr<ByteReader>> ArrivingFile::Open(std::uint64_t offset, std::stop_token stop) const {
  return std::make_unique<Reader>(*this, offset, std::move(stop));
}

Status ArrivingFile::WaitUntilWhole(std::stop_token stop) const {
  Lock lock(mutex_);
  if (!changed_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return ended_; }))
    return Status(Code::kCancelled, StrCat(download_.name, ": waiting for it was stopped"));
  return failure_;
}

Status ArrivingFile::WaitUntilSized(std::stop_token stop) const {
  Lock lock(mutex_);
  if (!changed_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return sized_ || ended_; }))
    return Status(Code::kCancelled, StrCat(download_.name, ": waiting for it was stopped"));
  return sized_ ? Status() : failure_;
}

void ArrivingFile::Fetch(std::stop_token stop) {
  Status outcome = CheckKept(stop);
  if (download_.progress) download_.progress(part_->state().bytes, size_, false);
  if (outcome.ok()) outcome = FetchWhole(stop);
  // The downloaded bytes are kept whatever the outcome. A full disk has no room for the journal either; only
  // a part among others may be cut for it, because nobody else reads its end.
  Status synced = part_->Sync();
  if (synced.code() == Code::kResourceExhausted && download_.among_others)
    static_cast<void>(part_->Shorten());  // otherwise the next download begins at byte 0
  if (outcome.ok()) outcome = std::move(synced);
  if (outcome.ok()) outcome = CheckWhole();
  if (download_.progress) download_.progress(part_->state().bytes, size_, true);
  const Lock lock(mutex_);
  ended_ = true;
  sized_ = sized_ || outcome.ok();
  size_ = outcome.ok() ? part_->state().size : size_.load();
  failure_ = std::move(outcome);
  changed_.NotifyAll();
}

Status ArrivingFile::CheckKept(const std::stop_token& stop) {
  if (!download_.among_others || part_->state().bytes == 0) return {};
  ASSIGN_OR_RETURN(const std::uint32_t crc32c, HashWhatIsHere(nullptr, stop));
  if (crc32c == part_->state().crc32c) return {};
  RETURN_IF_ERROR(part_->Empty());
  const Lock lock(mutex_);
  here_ = 0;
  sized_ = false;
  return {};
}

/// Downloads the whole file, and compares it with its pin if it has one.
Status ArrivingFile::FetchWhole(std::stop_token stop) {
  bool all_came_now = part_->state().bytes == 0;
  Status refused;  // the reason to download the earlier bytes again
  for (;;) {
    std::optional<ChecksumHasher> hasher;
    std::uint32_t crc32c = 0;  // of the downloaded bytes
    if (download_.pin) {
      hasher.emplace(download_.pin->kind);
      ASSIGN_OR_RETURN(crc32c, HashWhatIsHere(&*hasher, stop));
    }
    if (Status rest = FetchRest(hasher, stop); !rest.ok()) {
      if (rest.code() != Code::kCancelled && download_.resize && download_.resize()) {
        all_came_now = all_came_now || part_->state().bytes > remote_->size();
        RETURN_IF_ERROR(part_->Resize(remote_->size()));
        continue;
      }
      if (const std::unique_ptr<EncodedFile> encoded = Otherwise(rest)) return FetchDecoded(*encoded, stop);
      if (rest.Detail<NoRest>() != nullptr || rest.Detail<NoRange>() != nullptr)
        RETURN_IF_ERROR(part_->Forget());  // otherwise the next download fails in the same way
      if (refused.ok() || rest.code() == Code::kCancelled) return rest;
      if (rest.code() != Code::kUnavailable) RETURN_IF_ERROR(part_->Forget());
      std::string words = StrCat(refused.message(), "; then ", rest.message());
      return std::move(rest).Reword(std::move(words));
    }
    if (!hasher) return {};
    ASSIGN_OR_RETURN(const Checksum found, hasher->Finish());
    const bool is_decoded = part_->is_whole() && part_->state().sent == ToString(*download_.pin);
    if (found == *download_.pin || (is_decoded && crc32c == part_->state().crc32c)) return {};
    if (!download_.invalidate || !download_.invalidate(all_came_now)) {
      RETURN_IF_ERROR(part_->Forget());
      return Status(
          Code::kDataLoss,
          StrCat(download_.name, ": is not the file that it is pinned to: ", ToString(*download_.pin),
                 " was wanted, and the downloaded file has ", ToString(found),
                 "; check `checksum` and the address; the next run fetches it anew"));
    }
    refused = Status(Code::kDataLoss, StrCat(download_.name, ": ", ToString(*download_.pin),
                                             " was wanted, and the downloaded file has ", ToString(found)));
    RETURN_IF_ERROR(part_->Empty());
    all_came_now = true;
  }
}

/// Null also if a reader has bytes of the file already, or relies on its size.
std::unique_ptr<EncodedFile> ArrivingFile::Otherwise(const Status& failure) const {
  if (failure.code() == Code::kCancelled || !download_.decoded) return nullptr;
  const Lock lock(mutex_);
  return sized_ ? nullptr : download_.decoded(failure);
}

Status ArrivingFile::FetchDecoded(const EncodedFile& encoded, const std::stop_token& stop) {
  {
    const Lock lock(mutex_);
    here_ = 0;
  }
  const auto came = [this](std::uint64_t bytes) {
    if (download_.progress) download_.progress(bytes, std::max(bytes, size_.load()), false);
  };
  RETURN_IF_ERROR(encoded.FetchInto(*part_, download_.pin, came, stop));
  size_ = part_->state().size;
  Publish(size_);
  return {};
}

/// The journal has only the CRC-32C of bytes that an earlier process downloaded, so this reads them again.
Result<std::uint32_t> ArrivingFile::HashWhatIsHere(ChecksumHasher* hasher,
                                                   const std::stop_token& stop) const {
  return part_->HashFront(part_->state().bytes, [&](std::string_view piece) {
    if (hasher != nullptr) hasher->Update(piece);
    if (!stop.stop_requested()) return Status();
    return Status(Code::kCancelled, StrCat(download_.name, ": fetching was stopped"));
  });
}

Result<std::unique_ptr<ByteReader>> ArrivingFile::OpenRest(std::stop_token stop) {
  const std::uint64_t end = std::min(std::exchange(unproved_, 0), part_->state().bytes);
  std::string last(static_cast<std::size_t>(std::min<std::uint64_t>(end, kComparedBytes)), '\0');
  ASSIGN_OR_RETURN(const std::size_t got, part_->ReadAt(end - last.size(), last));
  if (got < last.size()) return Status(Code::kDataLoss, StrCat(part_->path(), ": ends early; run again"));
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader,
                   remote_->Open(part_->state().bytes - last.size(), stop));
  Status same = CompareBytes(*reader, last, download_.name, end);
  if (same.Detail<OtherBytes>() != nullptr && download_.among_others) {
    // Nothing was made of the kept bytes.
    LogWarning(StrCat(same.message(), "; it is downloaded from its beginning"));
    RETURN_IF_ERROR(part_->Empty());
    return remote_->Open(0, std::move(stop));
  }
  RETURN_IF_ERROR(same);
  if (end > 0) Publish(end);
  return reader;
}

Status ArrivingFile::FetchRest(std::optional<ChecksumHasher>& hasher, std::stop_token stop) {
  if (part_->is_whole()) return {};
  const std::uint64_t size = remote_->size();
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, OpenRest(stop));
  std::string piece(kArrivingPiece, '\0');
  std::uint64_t synced = part_->state().bytes;
  auto synced_at = std::chrono::steady_clock::now();
  while (part_->state().bytes < size) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0)
      return Status(Code::kDataLoss, StrCat(download_.name, ": ends at byte ", part_->state().bytes, " of ",
                                            size, "; run again"));
    const std::uint64_t wanted = std::min<std::uint64_t>(got, size - part_->state().bytes);
    const std::string_view came = std::string_view(piece).substr(0, static_cast<std::size_t>(wanted));
    RETURN_IF_ERROR(part_->Append(came));
    if (hasher) hasher->Update(came);
    const auto now = std::chrono::steady_clock::now();
    if (part_->state().bytes - synced >= kSyncBytes || now - synced_at >= kSyncTime) {
      RETURN_IF_ERROR(part_->Sync());
      synced = part_->state().bytes;
      synced_at = now;
    }
    Publish(part_->state().bytes);
  }
  // The server reports a wrong size only to a request beyond the end.
  Status ended = reader->Read(piece).status();
  if (!ended.ok() && !download_.pin && ended.code() != Code::kCancelled) RETURN_IF_ERROR(part_->Forget());
  return ended;
}

Status ArrivingFile::CheckWhole() {
  if (!download_.crc32c || *download_.crc32c == part_->state().crc32c) return {};
  RETURN_IF_ERROR(part_->Forget());
  return Status(Code::kDataLoss,
                StrCat(download_.name, ": arrived damaged: its crc32c is not the one that was named; ",
                       "run again, and it is fetched anew"));
}

void ArrivingFile::Publish(std::uint64_t bytes) {
  {
    const Lock lock(mutex_);
    here_ = bytes;
    sized_ = sized_ || !download_.pin;
  }
  changed_.NotifyAll();
  if (download_.progress) download_.progress(bytes, size_, false);
}

}  // namespace pipeline
