#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "stages/sources/member_pieces.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

/// Gives `good` bytes, then blocks until it is stopped.
class BlockingReader : public ByteReader {
 public:
  BlockingReader(std::size_t good, std::stop_token stop) : good_(good), stop_(std::move(stop)) {}

  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t got = std::min(out.size(), good_);
    if (got > 0) {
      std::fill_n(out.data(), got, 'x');
      good_ -= got;
      return got;
    }
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, stop_, [] { return false; });
    return Status(Code::kCancelled, "stopped");
  }

 private:
  std::size_t good_;
  const std::stop_token stop_;
};

TEST(ReadAheadTest, GivesTheSameBytes) {
  std::string text;
  while (text.size() < (9u << 20)) text += std::to_string(text.size());
  for (const std::size_t chunk : {100'003u, 4u << 20})
    for (const auto where : {ReadAhead::Where::kOwnThread, ReadAhead::Where::kCallersThread}) {
      const auto ahead =
          ReadAhead::Open(std::make_unique<MemoryReader>(text, chunk), std::stop_source(), where);
      std::string all;
      for (std::string_view bytes = *ahead->Next(); !bytes.empty(); bytes = *ahead->Next()) all.append(bytes);
      EXPECT_TRUE(all == text);
      EXPECT_EQ(*ahead->Next(), "");
    }
}

TEST(ReadAheadTest, ErrorComesAfterTheGoodBytesAndStays) {
  for (const auto where : {ReadAhead::Where::kOwnThread, ReadAhead::Where::kCallersThread}) {
    const auto ahead = ReadAhead::Open(
        std::make_unique<MemoryReader>("good", 1, std::stop_token(), Status(Code::kDataLoss, "bad")),
        std::stop_source(), where);
    for (const char byte : std::string("good")) EXPECT_EQ(*ahead->Next(), std::string(1, byte));
    EXPECT_EQ(ahead->Next().status().message(), "bad");
    EXPECT_EQ(ahead->Next().status().code(), Code::kDataLoss);
  }
}

TEST(ReadAheadTest, DestructionEndsABlockedRead) {
  std::stop_source stop;
  const auto ahead = ReadAhead::Open(std::make_unique<BlockingReader>(1, stop.get_token()), stop);
  EXPECT_EQ(*ahead->Next(), "x");
}

TEST(ReadAheadTest, DestructionEndsAThreadWithAFullRing) {
  std::stop_source stop;
  const auto ahead = ReadAhead::Open(std::make_unique<BlockingReader>(100u << 20, stop.get_token()), stop);
  EXPECT_FALSE(ahead->Next()->empty());
}

TEST(ReadAheadTest, StopTokenEndsAWaitingCaller) {
  std::stop_source stop;
  const auto ahead = ReadAhead::Open(std::make_unique<BlockingReader>(0, stop.get_token()), stop);
  const std::jthread other([&stop] { stop.request_stop(); });
  EXPECT_EQ(ahead->Next().status().code(), Code::kCancelled);
}

}  // namespace
}  // namespace pipeline
