#include "storage/checked_file.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/byte_reader.h"

namespace pipeline {

namespace {

constexpr std::size_t kComparedBytes = 1 << 20;  // between two looks at the stop token

}  // namespace

void RangeHasher::Update(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view front = bytes.substr(
        0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), kCheckedRange - in_range_)));
    hasher_.Update(front);
    bytes.remove_prefix(front.size());
    in_range_ += front.size();
    if (in_range_ < kCheckedRange) continue;
    digests_.push_back(hasher_.Finish());
    hasher_ = Hasher();
    in_range_ = 0;
  }
}

RangeDigests RangeHasher::Finish() {
  if (in_range_ > 0) digests_.push_back(hasher_.Finish());
  return std::move(digests_);
}

class CheckedFile::Reader final : public RepeatingReader {
 public:
  Reader(const CheckedFile& file, std::unique_ptr<ByteReader> input, std::uint64_t offset,
         std::stop_token stop)
      : file_(file), input_(std::move(input)), offset_(offset), stop_(std::move(stop)) {}

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    if (offset_ >= file_.size()) return input_->Read(out);
    const std::uint64_t range = offset_ / kCheckedRange, end = file_.EndOf(range);
    if (range != range_) {
      range_ = range;
      hasher_.reset();
      if (offset_ == range * kCheckedRange) hasher_.emplace();
    }
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end - offset_));
    ASSIGN_OR_RETURN(const std::size_t got, input_->Read(out.first(most)));
    // Not before: bytes that change after a comparison and are read then have to be compared once more.
    file_.Begin(range);
    if (hasher_) hasher_->Update(std::string_view(out.data(), got));
    offset_ += got;
    if (offset_ == end)
      RETURN_IF_ERROR(hasher_ ? file_.Settle(range, hasher_->Finish(), true) : file_.Compare(range, stop_));
    return got;
  }

  const CheckedFile& file_;
  const std::unique_ptr<ByteReader> input_;
  std::uint64_t offset_;
  const std::stop_token stop_;
  std::optional<std::uint64_t> range_;  // absent: none is begun
  std::optional<Hasher> hasher_;        // of all bytes of the range so far; absent: its front was not read
};

CheckedFile::CheckedFile(std::unique_ptr<const ByteFile> file, RangeDigests digests, Watch watch)
    : file_(std::move(file)),
      digests_(std::move(digests)),
      watch_(std::move(watch)),
      states_(digests_.size(), State::kUnread) {}

Result<std::unique_ptr<ByteReader>> CheckedFile::Open(std::uint64_t offset, std::stop_token stop) const {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> input, file_->Open(offset, stop));
  return std::make_unique<Reader>(*this, std::move(input), offset, std::move(stop));
}

Status CheckedFile::CompareRest(std::stop_token stop) const {
  std::vector<std::uint64_t> begun;
  {
    const Lock lock(mutex_);
    RETURN_IF_ERROR(failed_);
    for (std::uint64_t range = 0; range < states_.size(); ++range)
      if (states_[range] == State::kBegun || states_[range] == State::kComparing) begun.push_back(range);
  }
  for (const std::uint64_t range : begun) RETURN_IF_ERROR(Compare(range, stop));
  return {};
}

std::uint64_t CheckedFile::EndOf(std::uint64_t range) const {
  return std::min(size(), (range + 1) * kCheckedRange);
}

void CheckedFile::Begin(std::uint64_t range) const {
  const Lock lock(mutex_);
  states_[range] = State::kBegun;
}

Status CheckedFile::Settle(std::uint64_t range, const Digest& found, bool hashed_by_reader) const {
  if (found == digests_[range]) {
    watch_.same(range);
    const Lock lock(mutex_);
    if (states_[range] != State::kBegun || hashed_by_reader) states_[range] = State::kCompared;
    return failed_;
  }
  Status differs = watch_.differs(range * kCheckedRange, EndOf(range));
  const Lock lock(mutex_);
  if (failed_.ok()) failed_ = std::move(differs);
  return failed_;
}

/// Reads the whole range beside the readers, unless that was done since one of them read in it. If one of
/// them reads in it meanwhile, it remains to be compared.
Status CheckedFile::Compare(std::uint64_t range, std::stop_token stop) const {
  {
    const Lock lock(mutex_);
    if (!failed_.ok() || states_[range] == State::kCompared) return failed_;
    states_[range] = State::kComparing;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader,
                   file_->Open(range * kCheckedRange, std::move(stop)));
  Hasher hasher;
  const std::uint64_t bytes = EndOf(range) - range * kCheckedRange;
  std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kComparedBytes)), '\0');
  for (std::uint64_t left = bytes; left > 0;) {
    const std::span<char> some(piece.data(),
                               static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size())));
    RETURN_IF_ERROR(ReadExactly(*reader, some));
    hasher.Update(std::string_view(some.data(), some.size()));
    left -= some.size();
  }
  return Settle(range, hasher.Finish(), false);
}

}  // namespace pipeline
