#include "storage/remote/http/rate_limited_file.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kLargestPiece = std::size_t{1} << 20, kSmallestPiece = std::size_t{16} << 10;

/// Returns the bytes between two checks of the rate, a tenth of a second's worth: otherwise bytes that came
/// while this machine was busy would be passed on all at once.
std::size_t PieceFor(std::uint64_t bytes_per_second) {
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(bytes_per_second / 10, kSmallestPiece, kLargestPiece));
}

class RateLimitedReader final : public ByteReader {
 public:
  RateLimitedReader(const RangedFile& file, RateLimitedFile::Manners manners, std::uint64_t begin,
                    std::uint64_t end, std::stop_token stop)
      : file_(file), manners_(std::move(manners)), begin_(begin), end_(end), stop_(std::move(stop)) {}

  Result<std::size_t> Read(std::span<char> out) override {
    if (!failed_.ok() || ended_) return failed_.ok() ? Result<std::size_t>(std::size_t{0}) : failed_;
    Result<std::size_t> got = ReadSome(out);
    if (got.ok() && (*got > 0 || out.empty())) return got;
    ended_ = true;
    if (!got.ok()) failed_ = got.status();
    reader_.reset();  // before another reader gets the place
    place_.reset();
    return got;
  }

 private:
  Result<std::size_t> ReadSome(std::span<char> out) {
    if (!place_) {
      ASSIGN_OR_RETURN(place_, manners_.gate->Enter(manners_.server, manners_.connections, stop_));
      ASSIGN_OR_RETURN(reader_, file_.OpenRange(begin_, end_, stop_));
    }
    if (!manners_.rate) return reader_->Read(out);
    RETURN_IF_ERROR(manners_.rate->Wait(stop_));
    out = out.first(std::min(out.size(), PieceFor(manners_.rate->bytes_per_second())));
    ASSIGN_OR_RETURN(const std::size_t got, reader_->Read(out));
    manners_.rate->Take(got);
    return got;
  }

  const RangedFile& file_;
  const RateLimitedFile::Manners manners_;
  const std::uint64_t begin_, end_;
  const std::stop_token stop_;
  std::unique_ptr<ServerGate::Place> place_;  // null: before the first read and after the last
  std::unique_ptr<ByteReader> reader_;        // null: there is no place
  bool ended_ = false;
  Status failed_;
};

}  // namespace

Result<std::unique_ptr<ServerGate::Place>> ServerGate::Enter(const std::string& server, int most,
                                                             std::stop_token stop) {
  Lock lock(mutex_);
  const auto has_room = [&]() REQUIRES(mutex_) {
    const auto found = under_way_.find(server);
    return found == under_way_.end() || found->second < std::max(most, 1);
  };
  if (!left_.Wait(lock, stop, has_room))
    return Status(Code::kCancelled, StrCat(server, ": was stopped before its turn came"));
  ++under_way_[server];
  return std::make_unique<Place>(*this, server);
}

void ServerGate::Leave(const std::string& server) {
  {
    const Lock lock(mutex_);
    if (--under_way_[server] == 0) under_way_.erase(server);
  }
  left_.NotifyAll();
}

Result<std::unique_ptr<ByteReader>> RateLimitedFile::OpenRange(std::uint64_t begin, std::uint64_t end,
                                                               std::stop_token stop) const {
  return std::unique_ptr<ByteReader>(
      std::make_unique<RateLimitedReader>(*file_, manners_, begin, end, std::move(stop)));
}

}  // namespace pipeline
