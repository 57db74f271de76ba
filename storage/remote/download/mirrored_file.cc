#include "storage/remote/download/mirrored_file.h"

#include <algorithm>
#include <utility>

#include "base/byte_reader.h"
#include "base/mutex.h"
#include "base/str.h"
#include "storage/remote/download/paced_file.h"
#include "storage/remote/http/http_facts.h"
#include "storage/uri.h"

namespace pipeline {

class MirroredFile::Reader final : public RepeatingReader {
 public:
  Reader(const MirroredFile& file, std::uint64_t begin, std::uint64_t end, std::stop_token stop)
      : file_(file),
        at_(std::min(begin, file.size())),
        end_(std::clamp(end, at_, file.size())),
        stop_(std::move(stop)),
        retry_(file.means_),
        address_(file.Current()) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    for (;;) {
      if (at_ == end_ || out.empty()) return AtEnd(out);
      Result<std::size_t> got = Attempt(out);
      if (got.ok() && *got > 0) {
        retry_.Progress();
        tried_ = 0;
        at_ += *got;
        file_.Gave(address_);
        return got;
      }
      // A server that sends no ranges may still send the whole file, so it stays in the list.
      const bool refuses_part =
          end_ < file_.size() && !got.ok() && got.status().Detail<RefusesPart>() != nullptr;
      reader_.reset();
      if (refuses_part) return got;
      RETURN_IF_ERROR(
          GoOn(got.ok() ? Status(Code::kUnavailable, StrCat(ShownUrl(file_.urls_[address_]),
                                                            ": ended at byte ", at_, " of ", file_.size()))
                        : std::move(got).status()));
    }
  }

  /// Reads once more at the end: the server of the whole file may know another size.
  Result<std::size_t> AtEnd(std::span<char> out) {
    if (!reader_ || out.empty() || end_ < file_.size()) return std::size_t{0};
    const Status ended = reader_->Read(out).status();
    reader_.reset();
    if (ended.Detail<OtherSize>() == nullptr) return std::size_t{0};
    static_cast<void>(file_.After(address_, ended));
    return ended;
  }

  Result<std::size_t> Attempt(std::span<char> out) {
    if (!reader_) {
      ASSIGN_OR_RETURN(opened_, file_.FileAt(address_, stop_));
      ASSIGN_OR_RETURN(reader_, opened_->OpenRange(at_, end_, stop_));
    }
    return reader_->Read(
        out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end_ - at_))));
  }

  /// Chooses the next address, and waits after all were tried.
  Status GoOn(Status failure) {
    if (failure.code() == Code::kCancelled) return failure;
    const std::optional<std::size_t> next = file_.After(address_, failure);
    if (!next) return failure;
    const bool all_tried = ++tried_ >= file_.urls_.size() || *next == address_;
    address_ = *next;
    if (!all_tried) return {};
    tried_ = 0;
    return retry_.Again(Status(Code::kUnavailable, std::string(failure.message())), {}, stop_);
  }

  const MirroredFile& file_;
  std::uint64_t at_;
  const std::uint64_t end_;
  const std::stop_token stop_;
  Retry retry_;
  std::size_t address_;
  std::size_t tried_ = 0;                     // number of addresses since the last byte came
  std::shared_ptr<const RangedFile> opened_;  // outlives its reader
  std::unique_ptr<ByteReader> reader_;        // null: between two addresses
};

MirroredFile::MirroredFile(std::vector<std::string> urls, std::uint64_t size, OpenAddress open, Note note,
                           const RetryMeans& means)
    : size_(size),
      urls_(std::move(urls)),
      sizes_({size}),
      open_(std::move(open)),
      note_(std::move(note)),
      means_(means),
      addresses_(urls_.size()) {}

Result<std::unique_ptr<ByteReader>> MirroredFile::OpenRange(std::uint64_t begin, std::uint64_t end,
                                                            std::stop_token stop) const {
  return std::make_unique<Reader>(*this, begin, end, std::move(stop));
}

Result<std::shared_ptr<const RangedFile>> MirroredFile::FileAt(std::size_t address,
                                                               std::stop_token stop) const {
  const std::string& url = urls_[address];
  bool is_last = false;
  {
    const Lock lock(mutex_);
    const Address& known = addresses_[address];
    if (!known.dead.ok()) return known.dead;
    if (known.file) return known.file;
    is_last = known.tolerated || urls_.size() == 1;
  }
  // The lock is free meanwhile, because a server may take minutes. If two readers open one file at once, both
  // ask the server.
  ASSIGN_OR_RETURN(std::shared_ptr<const RangedFile> file, open_(url, size_, is_last, std::move(stop)));
  if (file->size() != size_)
    return Status(Code::kFailedPrecondition, StrCat(ShownUrl(url), ": has ", file->size(), " bytes, and not ",
                                                    size_.load(), " as the others"))
        .With(std::make_shared<OtherSize>(file->size()));
  const Lock lock(mutex_);
  return addresses_[address].file = std::move(file);
}

std::size_t MirroredFile::Current() const {
  const Lock lock(mutex_);
  return current_;
}

std::optional<std::size_t> MirroredFile::After(std::size_t address, const Status& failure) const {
  std::string line;
  std::optional<std::size_t> next;
  {
    const Lock lock(mutex_);
    Address& failed = addresses_[address];
    const auto* const size = failure.Detail<OtherSize>();
    const bool is_slow = failure.Detail<SlowServer>() != nullptr;
    if (size != nullptr) failed.other_size = size->size;
    failed.slow = failed.slow || is_slow;
    // A file that changed while it was read is opened again; the bytes are checked at the end.
    if (size != nullptr || is_slow || failure.code() == Code::kDataLoss)
      failed.file = nullptr;
    else if (failure.code() != Code::kUnavailable && failed.dead.ok())
      failed.dead = failure;
    const auto look = [&](std::size_t steps, bool slow_too) REQUIRES(mutex_) {
      for (std::size_t step = 1; step <= steps && !next; ++step) {
        const std::size_t other = (address + step) % addresses_.size();
        const Address& its = addresses_[other];
        if (its.dead.ok() && !its.other_size && (slow_too || !its.slow)) next = other;
      }
    };
    look(addresses_.size() - 1, false);
    look(addresses_.size(), true);
    if (Address* const chosen = next ? &addresses_[*next] : nullptr;
        chosen && chosen->slow && !chosen->tolerated)
      chosen->tolerated = true, chosen->file = nullptr;
    if (next && *next != address && current_ == address) {
      current_ = *next;
      line = StrCat(failure.message(), "; going on at ", ShownUrl(urls_[*next]));
    }
  }
  if (!line.empty() && note_) note_(line);
  return next;
}

void MirroredFile::Gave(std::size_t address) const {
  const Lock lock(mutex_);
  addresses_[address].gave = true;
}

bool MirroredFile::TakeOtherSize() {
  const Lock lock(mutex_);
  bool is_taken = false;
  for (std::size_t i = 0; i < addresses_.size() && !is_taken; ++i) {
    const Address& address = addresses_[i];
    is_taken = address.other_size && address.dead.ok() && sizes_.insert(*address.other_size).second;
    if (is_taken) size_ = *address.other_size, current_ = i;
  }
  if (!is_taken) return false;
  for (Address& address : addresses_) address.other_size.reset(), address.file = nullptr;
  return true;
}

std::vector<std::string> MirroredFile::EncodedAddresses() const {
  const Lock lock(mutex_);
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < urls_.size(); ++i)
    if (addresses_[i].dead.Detail<EncodedBody>() != nullptr) urls.push_back(urls_[i]);
  return urls;
}

bool MirroredFile::Invalidate(bool all_came_from_here) {
  Lock lock(mutex_);
  std::size_t gave = 0, alive = 0, last = current_;
  for (std::size_t i = 0; i < addresses_.size(); ++i)
    if (addresses_[i].gave) ++gave, last = i;
  if (all_came_from_here && gave == 1)
    addresses_[last].dead =
        Status(Code::kDataLoss, StrCat(ShownUrl(urls_[last]), ": has another file than the others"));
  for (Address& address : addresses_) {
    address.gave = false;
    if (address.dead.ok()) ++alive;
  }
  for (std::size_t i = 0; i < addresses_.size() && !addresses_[current_].dead.ok(); ++i)
    current_ = (current_ + 1) % addresses_.size();
  if (alive == 0 || (addresses_.size() < 2 && all_came_from_here)) return false;
  const bool again = (all_came_from_here && gave == 1) || ++mixed_ <= addresses_.size();
  const std::string line = StrCat("the downloaded file has another checksum; it is downloaded again from ",
                                  ShownUrl(urls_[current_]));
  lock.unlock();
  if (again && note_) note_(line);
  return again;
}

}  // namespace pipeline
