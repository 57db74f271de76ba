#include "stages/sources/block_decoder.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/mutex.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kReadOver = 1 << 20;  // for a longer gap, opening the file again is cheaper
constexpr std::size_t kStopBytes = 1 << 20;   // of text between two checks of the stop token
constexpr std::size_t kSkippedBytes = 64 << 10;

/// Opens the file at one block after the other.
class BlockFile {
 public:
  BlockFile(const ByteFile& file, std::stop_token stop) : file_(file), stop_(std::move(stop)) {}

  /// Goes to the begin of `block`, which is read to its end before the next call.
  Result<ByteReader*> At(const XzBlock& block) {
    // Between two streams are an index, a footer, perhaps padding, and a header.
    if (reader_ == nullptr || block.offset - offset_ > kReadOver) {
      ASSIGN_OR_RETURN(reader_, file_.Open(block.offset, stop_));
    } else {
      std::string between(block.offset - offset_, '\0');
      RETURN_IF_ERROR(ReadExactly(*reader_, between));
    }
    offset_ = block.offset + block.bytes;
    return reader_.get();
  }

 private:
  const ByteFile& file_;
  const std::stop_token stop_;
  std::unique_ptr<ByteReader> reader_;  // null before the first block
  std::uint64_t offset_ = 0;            // the position of reader_
};

/// Decodes one block after the other on the thread of the caller, and holds none of them.
class BlockStream : public RepeatingReader {
 public:
  BlockStream(const ByteFile& file, const XzIndex& index, std::uint64_t raw_offset, std::stop_token stop)
      : index_(index), stop_(std::move(stop)), file_(file, stop_), next_(XzBlockAt(index, raw_offset)) {
    if (next_ < index.blocks.size()) pass_ = raw_offset - index.blocks[next_].raw_offset;
  }

 private:
  Result<std::size_t> ReadSome(std::span<char> out) override {
    while (block_ || next_ < index_.blocks.size()) {
      ASSIGN_OR_RETURN(const std::size_t got, Decode(out));
      if (got > 0) return got;
    }
    return std::size_t{0};
  }

  // Returns the next bytes; 0: none are wanted of those that were decoded now, or the block has ended.
  Result<std::size_t> Decode(std::span<char> out) {
    if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
    if (!block_) {
      const XzBlock& block = index_.blocks[next_++];
      ASSIGN_OR_RETURN(ByteReader* const input, file_.At(block));
      block_ = NewXzBlockReader(block, *input);
    }
    if (pass_ > 0) {
      passed_.resize(kSkippedBytes);
      out = std::span(passed_).first(std::min<std::uint64_t>(passed_.size(), pass_));
    }
    ASSIGN_OR_RETURN(const std::size_t got, block_->Read(out));
    if (got == 0) block_.reset();
    if (pass_ == 0) return got;
    pass_ -= got;
    return std::size_t{0};
  }

  const XzIndex& index_;
  const std::stop_token stop_;
  BlockFile file_;
  std::size_t next_;        // the next block to open
  std::uint64_t pass_ = 0;  // bytes of the first block before the wanted ones
  std::string passed_;
  std::unique_ptr<ByteReader> block_;  // that is being decoded; null: none
};

/// Decodes several blocks at the same time, each on a thread of its own.
class BlockDecoder : public ByteReader {
 public:
  BlockDecoder(const ByteFile& file, const XzIndex& index, std::uint64_t raw_offset,
               std::uint64_t probable_end, int threads, std::stop_token stop)
      : index_(index),
        probable_end_(probable_end),
        stop_with_(std::move(stop), [this] { stop_.request_stop(); }),
        file_(file, stop_.get_token()),
        next_(XzBlockAt(index, raw_offset)) {
    if (next_ < index.blocks.size()) given_ = raw_offset - index.blocks[next_].raw_offset;
    slots_.resize(static_cast<std::size_t>(threads) + 1);  // Read gives one out
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Decode(); });
  }
  ~BlockDecoder() override { stop_.request_stop(); }  // threads_ join

  Result<std::size_t> Read(std::span<char> out) override {
    while (true) {
      ReadBlock();
      if (used_ == 0) return std::size_t{0};
      Slot& slot = slots_[front_];
      std::size_t decoded = 0;
      {
        Lock lock(mutex_);
        decoded_.Wait(lock, stop_.get_token(), [this, &slot] { return slot.done || slot.decoded > given_; });
        if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
        decoded = slot.decoded;
        if (decoded <= given_ && !slot.status.ok()) return slot.status;  // every later Read returns it, too
      }
      if (given_ < decoded) {
        const std::size_t bytes = std::min(out.size(), decoded - given_);
        std::copy_n(slot.text.data() + given_, bytes, out.data());
        given_ += bytes;
        return bytes;
      }
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
    // The rest is guarded by mutex_; the above belongs to one thread at a time, but for the decoded text.
    std::size_t decoded = 0;  // bytes of text that are there
    Status status;
    bool done = false;
  };

  // Reads one block ahead into a free slot. A failure takes the slot of its block, in order.
  void ReadBlock() {
    if (used_ == slots_.size() || next_ == index_.blocks.size()) return;
    if (used_ > 0 && index_.blocks[next_].raw_offset >= probable_end_) return;
    Slot& slot = slots_[(front_ + used_) % slots_.size()];
    slot.block = &index_.blocks[next_];
    Status status = ReadBytes(slot);
    next_ = status.ok() ? next_ + 1 : index_.blocks.size();
    ++used_;
    const Lock lock(mutex_);
    slot.decoded = 0;
    slot.status = std::move(status);
    slot.done = !slot.status.ok();
    if (slot.done) return;
    waiting_.push_back(&slot);
    read_.NotifyOne();
  }

  Status ReadBytes(Slot& slot) {
    ASSIGN_OR_RETURN(ByteReader* const input, file_.At(*slot.block));
    slot.bytes.resize(slot.block->bytes);
    return ReadExactly(*input, slot.bytes);
  }

  void Decode() {
    const std::stop_token stop = stop_.get_token();
    Lock lock(mutex_);
    while (read_.Wait(lock, stop, [this]() REQUIRES(mutex_) { return !waiting_.empty(); }) &&
           !stop.stop_requested()) {
      Slot& slot = *waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      Status status = DecodeBlock(slot, stop);
      lock.lock();
      slot.status = std::move(status);
      slot.done = true;
      decoded_.NotifyOne();
    }
  }

  Status DecodeBlock(Slot& slot, const std::stop_token& stop) {
    HeldBytes bytes(slot.bytes);
    const std::unique_ptr<ByteReader> reader = NewXzBlockReader(*slot.block, bytes);
    slot.text.resize(slot.block->raw_bytes);
    std::array<char, 1> end{};
    for (std::size_t decoded = 0;;) {
      if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
      std::span<char> out = std::span(slot.text).subspan(decoded);
      out = out.empty() ? std::span<char>(end) : out.first(std::min(out.size(), kStopBytes));
      ASSIGN_OR_RETURN(const std::size_t got, reader->Read(out));
      if (got == 0) return {};
      decoded += got;
      const Lock lock(mutex_);
      slot.decoded = decoded;
      decoded_.NotifyOne();
    }
  }

  const XzIndex& index_;
  const std::uint64_t probable_end_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> stop_with_;

  // Used by the caller's thread alone.
  BlockFile file_;
  std::size_t next_;         // the next block to read
  std::vector<Slot> slots_;  // a ring
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
  const std::uint64_t needed = index.blocks.size() * sizeof(XzBlock) + largest;
  // n threads hold n decoders and n + 1 blocks.
  const std::uint64_t fit = (memory - std::min(memory, needed)) / (largest + index.decoder_memory + 1);
  const std::uint64_t useful =
      std::min<std::uint64_t>(index.blocks.size(), static_cast<std::uint64_t>(threads));
  return static_cast<int>(std::max<std::uint64_t>(1, std::min(fit, useful)));
}

std::unique_ptr<ByteReader> NewBlockDecoder(const ByteFile& file, const XzIndex& index,
                                            std::uint64_t raw_offset, std::uint64_t probable_end, int threads,
                                            std::stop_token stop) {
  const std::size_t first = XzBlockAt(index, raw_offset);
  const bool one = first + 1 >= index.blocks.size() || index.blocks[first + 1].raw_offset >= probable_end;
  if (threads <= 1 || one) return std::make_unique<BlockStream>(file, index, raw_offset, std::move(stop));
  return std::make_unique<BlockDecoder>(file, index, raw_offset, probable_end, threads, std::move(stop));
}

}  // namespace pipeline
