#include "formats/xz.h"

#include <gtest/gtest.h>

#include <string>

#include "base/damaged_bytes.h"
#include "tests/support/compress.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

std::string NumberedLines(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += std::to_string(i * i) + "番目の行\n";
  return text;
}

/// Decodes one block as a stream, from a reader that gives `chunk` bytes at a time.
std::string DecodeBlock(const std::string& bytes, const XzBlock& block, Status& status,
                        std::size_t piece = std::size_t{1} << 16, std::size_t chunk = std::size_t{1} << 20) {
  MemoryReader input(bytes.substr(block.offset), chunk);
  const std::unique_ptr<ByteReader> reader = NewXzBlockReader(block, input);
  std::string text = ReadAll(*reader, status, piece);
  if (!status.ok()) return text;
  std::string behind(16, '\0');
  const std::size_t more = input.Read(behind).value();
  EXPECT_EQ(behind.substr(0, more), bytes.substr(block.offset + block.bytes, more))
      << "it reads its block alone";
  return text;
}

Result<std::string> DecodeByIndex(const std::string& bytes) {
  const MemoryFile file(bytes);
  ASSIGN_OR_RETURN(const XzIndex index, ReadXzIndex(file, {}));
  std::string text;
  for (const XzBlock& block : index.blocks) {
    EXPECT_EQ(block.raw_offset, text.size());
    Status status;
    const std::string out = DecodeBlock(bytes, block, status);
    RETURN_IF_ERROR(status);
    EXPECT_EQ(out.size(), block.raw_bytes);
    text += out;
  }
  EXPECT_EQ(index.raw_bytes, text.size());
  return text;
}

TEST(XzTest, BlocksByIndexAreTheWholeText) {
  const std::string text = NumberedLines(5000);
  for (const std::size_t block : {std::size_t{0}, std::size_t{1000}, text.size() / 2, text.size()}) {
    const auto decoded = DecodeByIndex(XzCompress(text, block));
    ASSERT_TRUE(decoded.ok()) << decoded.status().message();
    EXPECT_EQ(*decoded, text);
  }
  EXPECT_EQ(ReadXzIndex(MemoryFile(XzCompress(text, 10'000)), {})->blocks.size(),
            (text.size() + 9999) / 10'000);
}

TEST(XzTest, IndexCoversAllStreamsAndTheirPadding) {
  const std::string a = NumberedLines(1000), b = NumberedLines(50);
  const std::string bytes = XzCompress(a, 7000) + std::string(4, '\0') + XzCompress("") + XzCompress(b) +
                            std::string(10'000, '\0') + XzCompress(a) + std::string(8, '\0');
  const auto decoded = DecodeByIndex(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, a + b + a);
}

TEST(XzTest, EmptyTextHasNoBlocks) {
  const auto index = ReadXzIndex(MemoryFile(XzCompress("")), {});
  ASSERT_TRUE(index.ok());
  EXPECT_TRUE(index->blocks.empty());
  EXPECT_EQ(index->raw_bytes, 0u);
}

TEST(XzTest, TruncatedFileHasNoIndexAtAnyLength) {
  const std::string bytes = XzCompress(NumberedLines(200), 500);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    ASSERT_EQ(ReadXzIndex(MemoryFile(bytes.substr(0, length)), {}).status().code(), Code::kDataLoss)
        << length;
}

TEST(XzTest, PaddingMustBeAMultipleOfFour) {
  EXPECT_EQ(ReadXzIndex(MemoryFile(XzCompress("a") + std::string(3, '\0')), {}).status().code(),
            Code::kDataLoss);
  EXPECT_EQ(ReadXzIndex(MemoryFile(std::string(8, '\0')), {}).status().code(), Code::kDataLoss);
  EXPECT_EQ(ReadXzIndex(MemoryFile(std::string(4, '\0') + XzCompress("a")), {}).status().code(),
            Code::kDataLoss);
}

TEST(XzTest, EveryDamagedByteIsNoticedByTheIndexOrByABlock) {
  const std::string text = NumberedLines(100);
  const std::string bytes = XzCompress(text, 300);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    const auto decoded = DecodeByIndex(damaged);
    ASSERT_FALSE(decoded.ok()) << at;
    ASSERT_NE(decoded.status().code(), Code::kInternal) << decoded.status().message();
  }
}

TEST(XzTest, DamagedBlockGivesItsGoodBytesAndNamesThePlace) {
  const std::string text = NumberedLines(20'000);
  std::string bytes = XzCompress(text);
  const XzIndex index = *ReadXzIndex(MemoryFile(bytes), {});
  const XzBlock& block = index.blocks.at(0);
  const std::size_t at = block.offset + block.bytes / 2;
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  Status status;
  const std::string out = DecodeBlock(bytes, block, status);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("damaged xz data at byte "), std::string::npos) << status.message();
  EXPECT_LT(out.size(), text.size());
  ASSERT_NE(status.Detail<DamagedBytes>(), nullptr);
  EXPECT_EQ(status.Detail<DamagedBytes>()->begin, block.offset);
  EXPECT_EQ(status.Detail<DamagedBytes>()->end, block.offset + block.bytes);
}

TEST(XzTest, ABlockStreamsInAnyPieces) {
  const std::string text = NumberedLines(5000);
  const std::string bytes = XzCompress(text, text.size() / 2 + 1);
  const XzIndex index = *ReadXzIndex(MemoryFile(bytes), {});
  ASSERT_EQ(index.blocks.size(), 2u);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, text.size()})
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{777}, bytes.size()}) {
      Status status;
      EXPECT_TRUE(DecodeBlock(bytes, index.blocks[1], status, piece, chunk) ==
                  text.substr(index.blocks[1].raw_offset));
      EXPECT_TRUE(status.ok()) << status.message();
    }
}

TEST(XzTest, ABlockThatIsCutOffGivesItsGoodBytesAndNamesThePlace) {
  const std::string text = NumberedLines(20'000);
  const std::string bytes = XzCompress(text);
  const XzBlock block = ReadXzIndex(MemoryFile(bytes), {})->blocks.at(0);
  Status status;
  const std::string out = DecodeBlock(bytes.substr(0, block.offset + block.bytes / 2), block, status);
  EXPECT_EQ(status.message(), "damaged xz data at byte " + std::to_string(block.offset + block.bytes / 2) +
                                  ": ends inside a block: truncated; fetch the file again");
  EXPECT_GT(out.size(), text.size() / 4);
  EXPECT_TRUE(text.starts_with(out));
}

}  // namespace
}  // namespace pipeline
