#include "stages/sources/member_pieces.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::size_t kSlots = 4;
constexpr std::size_t kSlotBytes = 1 << 20;
constexpr std::size_t kDirectBytes = 64 << 10;

class RingAhead final : public ReadAhead {
 public:
  RingAhead(std::unique_ptr<ByteReader> input, std::stop_source stop)
      : input_(std::move(input)), stop_(std::move(stop)), thread_([this] { Run(); }) {}
  ~RingAhead() override { stop_.request_stop(); }  // thread_ joins

  Result<std::string_view> Next() override {
    Lock lock(mutex_);
    if (std::exchange(lent_, false)) {
      front_ = (front_ + 1) % kSlots;
      --filled_;
      changed_.NotifyAll();
    }
    changed_.Wait(lock, stop_.get_token(), [this]() REQUIRES(mutex_) { return filled_ > 0 || ended_; });
    if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
    if (filled_ == 0) {
      if (!failure_.ok()) return failure_;
      return std::string_view();
    }
    lent_ = true;
    const Slot& slot = slots_[front_];  // the thread does not touch it
    return std::string_view(slot.bytes.get(), slot.size);
  }

 private:
  struct Slot {
    std::unique_ptr<char[]> bytes;  // absent: not yet used; never set to 0, so a small file touches few pages
    std::size_t size = 0;
  };

  void Run() {
    Lock lock(mutex_);
    while (changed_.Wait(lock, stop_.get_token(), [this]() REQUIRES(mutex_) { return filled_ < kSlots; }) &&
           !stop_.stop_requested()) {
      Slot& slot = slots_[(front_ + filled_) % kSlots];
      lock.unlock();  // the caller does not touch an unfilled slot
      if (slot.bytes == nullptr) slot.bytes = std::make_unique_for_overwrite<char[]>(kSlotBytes);
      Result<std::size_t> got = input_->Read(std::span(slot.bytes.get(), kSlotBytes));
      lock.lock();
      ended_ = !got.ok() || *got == 0;
      if (!got.ok()) failure_ = std::move(got).status();
      if (!ended_) {
        slot.size = *got;
        ++filled_;
      }
      changed_.NotifyAll();
      if (ended_) return;
    }
  }

  const std::unique_ptr<ByteReader> input_;
  std::stop_source stop_;

  Mutex mutex_;
  ConditionVariable changed_;
  std::array<Slot, kSlots> slots_ GUARDED_BY(mutex_);
  std::size_t front_ GUARDED_BY(mutex_) = 0;
  bool lent_ GUARDED_BY(mutex_) = false;  // the front slot is the caller's until it asks again
  std::size_t filled_ GUARDED_BY(mutex_) = 0;
  bool ended_ GUARDED_BY(mutex_) = false;
  Status failure_ GUARDED_BY(mutex_);

  std::jthread thread_;  // last: it uses all of the above
};

class DirectAhead final : public ReadAhead {
 public:
  DirectAhead(std::unique_ptr<ByteReader> input, std::stop_source stop)
      : input_(std::move(input)), stop_(std::move(stop)) {}
  ~DirectAhead() override { stop_.request_stop(); }

  Result<std::string_view> Next() override {
    if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
    if (got_.ok() && *got_ > 0) got_ = input_->Read(std::span(bytes_.get(), kDirectBytes));
    if (!got_.ok()) return got_.status();
    return std::string_view(bytes_.get(), *got_);
  }

 private:
  const std::unique_ptr<ByteReader> input_;
  std::stop_source stop_;
  const std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(kDirectBytes);
  Result<std::size_t> got_ = kDirectBytes;  // the result of the last read; 0: the end
};

}  // namespace

std::unique_ptr<ReadAhead> ReadAhead::Open(std::unique_ptr<ByteReader> input, std::stop_source stop,
                                           Where where) {
  if (where == Where::kOwnThread) return std::make_unique<RingAhead>(std::move(input), std::move(stop));
  return std::make_unique<DirectAhead>(std::move(input), std::move(stop));
}

Result<MemberPieces::Piece> MemberPieces::Next() {
  if (pending_.empty()) {
    ASSIGN_OR_RETURN(pending_, text_->Next());
  }
  std::size_t bytes = pending_.size();
  if (members_ != nullptr) {
    // A border is known before the first byte behind it is.
    if (std::optional<MemberBorders::Border> border = members_->Take(given_))
      return Piece{std::move(border), {}};
    if (const std::optional<std::uint64_t> next = members_->next())
      bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, *next - given_));
  }
  const Piece piece = {std::nullopt, pending_.substr(0, bytes)};
  pending_.remove_prefix(bytes);
  given_ += bytes;
  return piece;
}

Status CountMembers(const MemberBorders& members, StageCounts& counts) {
  const MemberBorders::Counts found = members.counts();
  if (found.members == 0 && found.left_out > 0)
    return Status(Code::kInvalidArgument,
                  StrCat("none of its ", found.left_out, " files has a name that the ",
                         "patterns of `members` describe"));
  counts.Add("members", found.members);
  if (found.not_files > 0) counts.Add("members_not_files", found.not_files);
  if (found.left_out > 0) counts.Add("members_left_out", found.left_out);
  return {};
}

}  // namespace pipeline
