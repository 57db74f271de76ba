#include "plugins/train/rows/row_checksums.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/crc32c.h"
#include "tests/plugins/train/rows/packed_rows.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

class RowChecksumsTest : public testing::Test {
 protected:
  /// Shards that end inside of blocks, one without rows, and three in one block.
  RowChecksumsTest() : rows_({1500, 0, 700, 10, 20, 3000}), blocks_(rows_.Blocks(root_.path().string())) {}

  Result<RowChecksums> Measure() {
    return MeasureRows(blocks_, [this](const FileFacts& shard, const auto& take) -> Status {
      std::string_view bytes = rows_.objects().at(shard.name);
      for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 777)))
        RETURN_IF_ERROR(take(bytes.substr(0, 777)));
      return shard.name == damaged_ ? take("!") : Status();
    });
  }
  std::string Encoded() { return EncodeRowChecksums(*Measure(), blocks_, "d1", "train"); }

  TempDir root_;
  const PackedRows rows_;
  const RowBlocks blocks_;
  std::string damaged_;
};

TEST_F(RowChecksumsTest, BlocksConsistOfTheirRanges) {
  EXPECT_EQ(blocks_.rows(), 5230u);
  EXPECT_EQ(blocks_.count(), 6u);
  std::uint64_t row = 0;
  for (std::uint64_t block = 0; block < blocks_.count(); ++block) {
    EXPECT_EQ(blocks_.BytesOf(block), (block < 5 ? 1024 : 110) * PackedRows::kRowBytes);
    std::string bytes;
    for (const RowRange& range : blocks_.RangesOf(block)) {
      EXPECT_EQ(range.block, block);
      const std::string& shard = rows_.objects().at(blocks_.shards()[range.shard].name);
      bytes += shard.substr(range.from, range.bytes());
    }
    for (std::size_t at = 0; at < bytes.size(); at += PackedRows::kRowBytes)
      ASSERT_EQ(bytes.substr(at, PackedRows::kRowBytes), PackedRows::Row(row++));
  }
  EXPECT_EQ(row, blocks_.rows());
  EXPECT_EQ(blocks_.RangesOf(2).size(), 4u);
}

TEST_F(RowChecksumsTest, TheyAreThoseOfTheRanges) {
  const Result<RowChecksums> made = Measure();
  ASSERT_TRUE(made.ok()) << made.status().message();
  for (std::size_t at = 0; at < made->size(); ++at) {
    const RowRange& range = blocks_.ranges()[at];
    const std::string& shard = rows_.objects().at(blocks_.shards()[range.shard].name);
    EXPECT_EQ((*made)[at], Crc32c(shard.substr(range.from, range.bytes())));
  }
  const Result<RowChecksums> read = ParseRowChecksums(Encoded(), blocks_, "d1", "here");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, *made);
}

TEST_F(RowChecksumsTest, OnlyThoseThatGiveTheManifestsAreTaken) {
  const std::string good = Encoded();
  const std::size_t digits = good.find("\"crc32c\":\"") + 10;
  for (std::size_t at = digits; at < digits + 16; ++at) {
    std::string bad = good;
    bad[at] = bad[at] == '0' ? '1' : '0';
    EXPECT_EQ(ParseRowChecksums(bad, blocks_, "d1", "here").status().code(), Code::kDataLoss) << at;
  }
  for (const std::string& bad : {good.substr(0, good.size() / 2), std::string("{}"), std::string()})
    EXPECT_FALSE(ParseRowChecksums(bad, blocks_, "d1", "here").ok());
  EXPECT_FALSE(ParseRowChecksums(good, blocks_, "d2", "here").ok()) << "of other rows";
}

TEST_F(RowChecksumsTest, AShardThatDiffersFromTheManifestIsNamed) {
  damaged_ = "train-2.bin";
  const Result<RowChecksums> made = Measure();
  EXPECT_EQ(made.status().code(), Code::kDataLoss);
  EXPECT_TRUE(made.status().message().starts_with("train-2.bin: has not the 5600 bytes"))
      << made.status().message();
}

TEST_F(RowChecksumsTest, AnIndexThatContradictsItsShardIsRefused) {
  std::string index = rows_.objects().at("train-5.rows");
  index[842 * 20 + 7] = 1;  // of a row that begins a block
  WriteFile(root_ / "train-5.rows", index);
  const auto blocks = RowBlocks::Read(rows_.packed(), "train", rows_.files(), root_.path().string());
  EXPECT_EQ(blocks.status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace pipeline
