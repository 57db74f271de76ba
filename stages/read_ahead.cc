#include "stages/read_ahead.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace pipeline {

namespace {

constexpr std::size_t kSlots = 4;
constexpr std::size_t kSlotBytes = 1 << 20;

class ReadAhead : public ByteReader {
 public:
  ReadAhead(std::unique_ptr<ByteReader> input, std::stop_source stop)
      : input_(std::move(input)), stop_(std::move(stop)), thread_([this] { Run(); }) {}
  ~ReadAhead() override { stop_.request_stop(); }  // thread_ joins

  Result<std::size_t> Read(std::span<char> out) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop_.get_token(), [this] { return filled_ > 0 || ended_; });
    if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
    if (filled_ == 0) {
      if (!failure_.ok()) return failure_;
      return std::size_t{0};
    }
    Slot& slot = slots_[front_];
    lock.unlock();  // the thread does not touch a filled slot
    const std::size_t bytes = std::min(out.size(), slot.size - taken_);
    std::copy_n(slot.bytes.data() + taken_, bytes, out.data());
    taken_ += bytes;
    if (taken_ == slot.size) {
      taken_ = 0;
      lock.lock();
      front_ = (front_ + 1) % kSlots;
      --filled_;
      lock.unlock();
      changed_.notify_all();
    }
    return bytes;
  }

 private:
  struct Slot {
    std::string bytes = std::string(kSlotBytes, '\0');
    std::size_t size = 0;
  };

  void Run() {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop_.get_token(), [this] { return filled_ < kSlots; }) &&
           !stop_.stop_requested()) {
      Slot& slot = slots_[(front_ + filled_) % kSlots];
      lock.unlock();  // the caller does not touch an unfilled slot
      Result<std::size_t> got = input_->Read(slot.bytes);
      lock.lock();
      ended_ = !got.ok() || *got == 0;
      if (!got.ok()) failure_ = std::move(got).status();
      if (!ended_) {
        slot.size = *got;
        ++filled_;
      }
      changed_.notify_all();
      if (ended_) return;
    }
  }

  const std::unique_ptr<ByteReader> input_;
  std::stop_source stop_;
  std::size_t taken_ = 0;  // of the front slot; the caller's

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::array<Slot, kSlots> slots_;
  std::size_t front_ = 0;  // guarded by mutex_, as all below
  std::size_t filled_ = 0;
  bool ended_ = false;
  Status failure_;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<ByteReader> NewReadAhead(std::unique_ptr<ByteReader> input, std::stop_source stop) {
  return std::make_unique<ReadAhead>(std::move(input), std::move(stop));
}

}  // namespace pipeline
