#include "stages/sources/block_decoder.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/damaged_bytes.h"
#include "base/mutex.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kReadOver = 1 << 20;  // for a longer gap, opening the file again is cheaper

class BlockDecoder : public ByteReader {
 public:
  BlockDecoder(const ByteFile& file, const XzIndex& index, std::uint64_t raw_offset,
               std::uint64_t probable_end, int threads, std::stop_token stop)
      : file_(file),
        index_(index),
        probable_end_(probable_end),
        stop_with_(std::move(stop), [this] { stop_.request_stop(); }) {
    const auto after = std::upper_bound(index.blocks.begin(), index.blocks.end(), raw_offset,
                                        [](std::uint64_t offset, const XzBlock& block) {
                                          return offset < block.raw_offset + block.raw_bytes;
                                        });
    next_ = static_cast<std::size_t>(after - index.blocks.begin());
    if (after != index.blocks.end()) given_ = raw_offset - after->raw_offset;
    slots_.resize(static_cast<std::size_t>(threads) + 1);  // Read gives one out
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Decode(); });
  }
  ~BlockDecoder() override { stop_.request_stop(); }  // threads_ join

  Result<std::size_t> Read(std::span<char> out) override {
    while (true) {
      ReadBlocks();
      if (used_ == 0) return std::size_t{0};
      Slot& slot = slots_[front_];
      {
        Lock lock(mutex_);
        decoded_.Wait(lock, stop_.get_token(), [&slot] { return slot.done; });
        if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
      }
      if (given_ < slot.text.size()) {
        const std::size_t bytes = std::min(out.size(), slot.text.size() - given_);
        std::copy_n(slot.text.data() + given_, bytes, out.data());
        given_ += bytes;
        return bytes;
      }
      if (!slot.status.ok()) return slot.status;  // every later Read returns it, too
      given_ = 0;
      front_ = (front_ + 1) % slots_.size();
      --used_;
    }
  }

 private:
  struct Slot {
    const XzBlock* block = nullptr;
    std::string bytes;  // compressed
    std::string text;
    Status status;
    bool done = false;  // guarded by mutex_; the rest belongs to one thread at a time
  };

  // Reads ahead into every free slot. A failure takes the slot of its block, in order.
  void ReadBlocks() {
    while (used_ < slots_.size() && next_ < index_.blocks.size() &&
           (used_ == 0 || index_.blocks[next_].raw_offset < probable_end_)) {
      Slot& slot = slots_[(front_ + used_) % slots_.size()];
      slot.block = &index_.blocks[next_];
      slot.status = ReadBlock(slot);
      slot.text.clear();
      next_ = slot.status.ok() ? next_ + 1 : index_.blocks.size();
      ++used_;
      const Lock lock(mutex_);
      slot.done = !slot.status.ok();
      if (slot.done) continue;
      waiting_.push_back(&slot);
      read_.NotifyOne();
    }
  }

  Status ReadBlock(Slot& slot) {
    // Between two streams are an index, a footer, perhaps padding, and a header.
    if (reader_ == nullptr || slot.block->offset - offset_ > kReadOver) {
      ASSIGN_OR_RETURN(reader_, file_.Open(slot.block->offset, stop_.get_token()));
      offset_ = slot.block->offset;
    }
    slot.bytes.resize(slot.block->offset - offset_);
    RETURN_IF_ERROR(ReadExactly(*reader_, slot.bytes));
    slot.bytes.resize(slot.block->bytes);
    RETURN_IF_ERROR(ReadExactly(*reader_, slot.bytes));
    offset_ = slot.block->offset + slot.block->bytes;
    return {};
  }

  void Decode() {
    const std::stop_token stop = stop_.get_token();
    Lock lock(mutex_);
    while (read_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return !waiting_.empty(); }) &&
           !stop.stop_requested()) {
      Slot& slot = *waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      slot.status = DecodeXzBlock(*slot.block, slot.bytes, stop, slot.text);
      if (slot.status.code() == Code::kDataLoss) {
        const std::uint64_t begin = slot.block->offset;
        slot.status =
            std::move(slot.status).With(std::make_shared<DamagedBytes>(begin, begin + slot.block->bytes));
      }
      lock.lock();
      slot.done = true;
      decoded_.NotifyOne();
    }
  }

  const ByteFile& file_;
  const XzIndex& index_;
  const std::uint64_t probable_end_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> stop_with_;

  // Used by the caller's thread alone.
  std::unique_ptr<ByteReader> reader_;  // null before the first block
  std::uint64_t offset_ = 0;            // the position of reader_
  std::size_t next_ = 0;                // the next block to read
  std::vector<Slot> slots_;             // a ring
  std::size_t front_ = 0;
  std::size_t used_ = 0;
  std::size_t given_ = 0;  // bytes of the front slot's text

  Mutex mutex_;
  ConditionVariable read_;
  ConditionVariable decoded_;
  std::deque<Slot*> waiting_ GUARDED_BY(mutex_);

  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace

int BlockDecoderThreads(const XzIndex& index, int threads, std::uint64_t memory) {
  std::uint64_t largest = 0;
  for (const XzBlock& block : index.blocks) largest = std::max(largest, block.bytes + block.raw_bytes);
  // n threads hold n decoders and n + 1 blocks.
  if (largest > memory / 2 || index.decoder_memory > memory - 2 * largest) return 0;
  const std::uint64_t more =
      (memory - 2 * largest - index.decoder_memory) / (largest + index.decoder_memory + 1);
  const std::uint64_t useful =
      std::min<std::uint64_t>(index.blocks.size(), static_cast<std::uint64_t>(threads));
  return static_cast<int>(std::max<std::uint64_t>(1, std::min(more + 1, useful)));
}

std::unique_ptr<ByteReader> NewBlockDecoder(const ByteFile& file, const XzIndex& index,
                                            std::uint64_t raw_offset, std::uint64_t probable_end, int threads,
                                            std::stop_token stop) {
  return std::make_unique<BlockDecoder>(file, index, raw_offset, probable_end, threads, std::move(stop));
}

}  // namespace pipeline
