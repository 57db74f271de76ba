#include "stages/sources/block_decoder.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "base/byte_reader.h"
#include "formats/line_rules.h"
#include "tests/support/compress.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

std::string Text() {
  std::string text;
  while (text.size() < 200'000) text += std::to_string(text.size() * 7) + "番目の行\n";
  return text;
}

/// Text that hardly gets smaller.
std::string NoiseText(std::size_t bytes) {
  std::mt19937_64 random(7);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST(BlockDecoderTest, AnyNumberOfThreadsGivesTheText) {
  const std::string text = Text();
  const MemoryFile file(XzCompress(text, 9000) + std::string(2 << 20, '\0') + XzCompress(text, 50'000) +
                        XzCompress("x"));
  const XzIndex index = *ReadXzIndex(file, {});
  for (const int threads : {1, 2, 5}) {
    const auto reader = NewBlockDecoder(file, index, 0, kNoLimit, threads, {});
    Status status;
    EXPECT_TRUE(ReadAll(*reader, status, 1001) == text + text + "x");
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(BlockDecoderTest, StartsAtAnyOffset) {
  const std::string text = Text();
  const MemoryFile file(XzCompress(text, 10'000));
  const XzIndex index = *ReadXzIndex(file, {});
  for (const int threads : {1, 2})
    for (const std::size_t offset : {std::size_t{1}, std::size_t{9999}, std::size_t{10'000},
                                     std::size_t{10'001}, text.size() - 1, text.size(), text.size() + 5}) {
      const auto reader = NewBlockDecoder(file, index, offset, kNoLimit, threads, {});
      Status status;
      EXPECT_TRUE(ReadAll(*reader, status, 7) == text.substr(std::min(offset, text.size()))) << offset;
      EXPECT_TRUE(status.ok());
    }
}

TEST(BlockDecoderTest, BlocksBehindTheProbableEndAreNotReadAhead) {
  const std::string text = Text();
  const std::string bytes = XzCompress(text, 10'000);
  std::size_t read = 0;
  const CountingFile file(std::make_shared<MemoryFile>(bytes),
                          [&read](std::uint64_t, std::string_view more) { read += more.size(); });
  const XzIndex index = *ReadXzIndex(file, {});
  for (const std::uint64_t probable_end : {std::uint64_t{15'000}, kNoLimit}) {
    read = 0;
    const auto reader = NewBlockDecoder(file, index, 0, probable_end, 8, {});
    std::string some(100, '\0');
    for (int i = 0; i < 5; ++i) ASSERT_EQ(reader->Read(some).value(), some.size());
    EXPECT_EQ(read < index.blocks[3].offset, probable_end < kNoLimit) << read;
    Status status;
    EXPECT_EQ(ReadAll(*reader, status).size(), text.size() - 500) << "they can be read all the same";
  }
}

TEST(BlockDecoderTest, OneThreadReadsNoMoreThanItGives) {
  const std::string text = NoiseText(3 << 18);
  const std::string bytes = XzCompress(text, 1 << 18);
  std::size_t read = 0;
  const CountingFile file(std::make_shared<MemoryFile>(bytes),
                          [&read](std::uint64_t, std::string_view more) { read += more.size(); });
  const XzIndex index = *ReadXzIndex(file, {});
  ASSERT_EQ(index.blocks.size(), 3u);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1} << 18, std::size_t{3} << 17}) {
    read = 0;
    const auto reader = NewBlockDecoder(file, index, offset, kNoLimit, 1, {});
    std::string some(100, '\0');
    ASSERT_EQ(reader->Read(some).value(), some.size());
    EXPECT_TRUE(some == text.substr(offset, some.size()));
    const std::uint64_t in_block = offset % (1 << 18);
    EXPECT_LE(read, in_block + (128 << 10)) << "it begins at the block and goes as far as it is asked";
  }
}

TEST(BlockDecoderTest, TheFirstTextWaitsForOneBlockAlone) {
  const std::string text = Text();
  std::size_t read = 0;
  const CountingFile file(std::make_shared<MemoryFile>(XzCompress(text, 10'000)),
                          [&read](std::uint64_t, std::string_view more) { read += more.size(); });
  const XzIndex index = *ReadXzIndex(file, {});
  read = 0;
  const auto reader = NewBlockDecoder(file, index, 0, kNoLimit, 4, {});
  std::string some(100, '\0');
  ASSERT_EQ(reader->Read(some).value(), some.size());
  EXPECT_EQ(read, index.blocks[0].bytes);
}

TEST(BlockDecoderTest, DamageComesAfterTheBlocksBefore) {
  const std::string text = Text();
  std::string bytes = XzCompress(text, 10'000);
  const XzIndex index = *ReadXzIndex(MemoryFile(bytes), {});
  const std::size_t at = index.blocks[7].offset + index.blocks[7].bytes / 2;
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  const MemoryFile file(bytes);
  for (const int threads : {1, 4}) {
    const auto reader = NewBlockDecoder(file, index, 0, kNoLimit, threads, {});
    Status status;
    const std::string good = ReadAll(*reader, status);
    EXPECT_GE(good.size(), 70'000u);
    EXPECT_TRUE(good.substr(0, 70'000) == text.substr(0, 70'000));
    EXPECT_EQ(status.code(), Code::kDataLoss);
    std::string more(1, '\0');
    EXPECT_EQ(reader->Read(more).status().message(), status.message());
  }
}

TEST(BlockDecoderTest, TruncatedFileFailsAtTheMissingBlock) {
  const std::string text = Text();
  const std::string bytes = XzCompress(text, 10'000);
  const XzIndex index = *ReadXzIndex(MemoryFile(bytes), {});
  const MemoryFile file(bytes.substr(0, index.blocks[3].offset + 10));
  const auto reader = NewBlockDecoder(file, index, 0, kNoLimit, 2, {});
  Status status;
  EXPECT_TRUE(ReadAll(*reader, status) == text.substr(0, 30'000));
  EXPECT_EQ(status.code(), Code::kDataLoss);
}

TEST(BlockDecoderTest, StopsWhenToldAndWhenDestroyed) {
  const MemoryFile file(XzCompress(Text(), 10'000));
  const XzIndex index = *ReadXzIndex(file, {});
  std::stop_source stop;
  const auto reader = NewBlockDecoder(file, index, 0, kNoLimit, 2, stop.get_token());
  std::string some(100, '\0');
  EXPECT_TRUE(reader->Read(some).ok());
  stop.request_stop();
  Status status;
  ReadAll(*reader, status);
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_TRUE(NewBlockDecoder(file, index, 0, kNoLimit, 3, {})->Read(some).ok());
}

TEST(BlockDecoderTest, ThreadsAreFewerWhereMemoryIsShort) {
  XzIndex index;
  index.decoder_memory = 10;
  for (int i = 0; i < 8; ++i) index.blocks.push_back({.bytes = 20, .raw_bytes = 80});
  const std::uint64_t itself = 8 * sizeof(XzBlock);
  EXPECT_EQ(BlockDecoderThreads(index, 4, 1'000'000), 4);
  EXPECT_EQ(BlockDecoderThreads(index, 100, 1'000'000), 8);  // no more than blocks
  EXPECT_EQ(BlockDecoderThreads(index, 0, 1'000'000), 1);
  EXPECT_EQ(BlockDecoderThreads(index, 4, itself + 322), 2);
  EXPECT_EQ(BlockDecoderThreads(index, 4, itself + 321), 1);  // it streams, and needs none of it
  EXPECT_EQ(BlockDecoderThreads(index, 4, 0), 1);
  index.blocks[3].raw_bytes = std::uint64_t{1} << 62;  // what a damaged index may say
  EXPECT_EQ(BlockDecoderThreads(index, 4, std::uint64_t{1} << 40), 1);
}

}  // namespace
}  // namespace pipeline
