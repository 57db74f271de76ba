#include "stages/sources/read_ahead.h"

#include <array>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace pipeline {

namespace {

constexpr std::size_t kSlots = 4;
constexpr std::size_t kSlotBytes = 1 << 20;
constexpr std::size_t kDirectBytes = 64 << 10;

}  // namespace

class ReadAhead::Ring {
 public:
  Ring(std::unique_ptr<ByteReader> input, std::stop_source stop)
      : input_(std::move(input)), stop_(std::move(stop)), thread_([this] { Run(); }) {}
  ~Ring() { stop_.request_stop(); }  // thread_ joins

  Result<std::string_view> Next() {
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

class ReadAhead::Direct {
 public:
  Direct(std::unique_ptr<ByteReader> input, std::stop_source stop)
      : input_(std::move(input)), stop_(std::move(stop)) {}
  ~Direct() { stop_.request_stop(); }

  Result<std::string_view> Next() {
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

ReadAhead::ReadAhead(std::unique_ptr<ByteReader> input, std::stop_source stop, Where where) {
  if (where == Where::kOwnThread)
    ring_ = std::make_unique<Ring>(std::move(input), std::move(stop));
  else
    direct_ = std::make_unique<Direct>(std::move(input), std::move(stop));
}
ReadAhead::~ReadAhead() = default;

Result<std::string_view> ReadAhead::Next() { return ring_ ? ring_->Next() : direct_->Next(); }

}  // namespace pipeline
