#include "stages/export/packed/packed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/coding.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"

namespace pipeline {
namespace {

using namespace std::string_view_literals;
using RowIds = std::vector<std::uint32_t>;

// The example of stages/export/packed/packed.md.
constexpr std::string_view kExampleShard =
    "\x19\x00\x00\x00\x00\x00\x00\x00\x8b\xf1\x08\x28"
    "\x0a\x17\x0a\x15\x0a\x06\x74\x6f\x6b\x65\x6e\x73\x12\x0b\x1a\x09\x0a\x07\x02\xac\x02\x05\x04\xad\x02"
    "\x4e\xf7\xa6\xb5"
    "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22"
    "\x0a\x16\x0a\x14\x0a\x06\x74\x6f\x6b\x65\x6e\x73\x12\x0a\x1a\x08\x0a\x06\xad\x02\x02\x00\x00\x00"
    "\xe7\x55\xcd\x5b"sv;
constexpr std::string_view kExampleIndex =
    "\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x10\x00\x00\x00\x06\x00\x00\x00"
    "\x29\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00"sv;

std::string ExampleOf(const TfExample& example) {
  std::string bytes;
  AppendTfExample(bytes, example);
  return bytes;
}

std::string WhyNoRow(std::string_view example) {
  RowIds ids;
  const Status status = ParsePackedRow(example, ids);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  return std::string(status.message());
}

std::string WhyNoIndex(std::string_view bytes) {
  const auto index = ParsePackedIndex(bytes);
  EXPECT_EQ(index.status().code(), Code::kDataLoss);
  return std::string(index.status().message());
}

TEST(PackedTest, WritesTheExample) {
  std::string shard;
  AppendPackedRow(shard, RowIds{2, 300, 5, 4, 301});
  EXPECT_EQ(shard.size(), 0x29u);
  AppendPackedRow(shard, RowIds{301, 2, 0, 0, 0});
  EXPECT_EQ(shard, kExampleShard);
  std::string index;
  PutU64(index, 0);
  AppendPackedRowFacts(index, {5, 16, 6});
  PutU64(index, 0x29);
  AppendPackedRowFacts(index, {2, 1, 1});
  EXPECT_EQ(index, kExampleIndex);
}

TEST(PackedTest, ReadsTheExample) {
  RowIds ids = {7};
  ASSERT_TRUE(ParsePackedRow(kExampleShard.substr(12, 25), ids).ok());
  EXPECT_EQ(ids, (RowIds{2, 300, 5, 4, 301}));
  const auto index = ParsePackedIndex(kExampleIndex);
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(*index, (std::vector<PackedIndexEntry>{{0, {5, 16, 6}}, {0x29, {2, 1, 1}}}));
}

TEST(PackedTest, WritesWhatTheGenericWriterWrites) {
  for (const RowIds& ids :
       {RowIds{}, RowIds{0}, RowIds(5000, 1), RowIds{127, 128, 16383, 16384, UINT32_MAX}}) {
    TfInt64List values(ids.begin(), ids.end());
    std::string wanted;
    AppendTfRecord(wanted, ExampleOf({{kPackedFeature, values}}));
    std::string row = "before";
    AppendPackedRow(row, ids);
    if (ids.empty())
      continue;  // nobody packs a row of nothing: its list has no values field in the generic form
    EXPECT_EQ(row, "before" + wanted);
  }
}

TEST(PackedTest, SegmentsStandBesideTheIds) {
  const PackedSegments segments = SegmentsOf(std::vector<std::uint32_t>{1, 3}, 5, 7);
  EXPECT_EQ(segments.ids, (RowIds{1, 2, 2, 3, 3, 0, 0}));
  EXPECT_EQ(segments.positions, (RowIds{0, 0, 1, 0, 1, 0, 0}));
  const RowIds ids = {2, 300, 2, 301, 2, 0, 0};
  std::string row;
  AppendPackedRow(row, ids, &segments);
  std::string wanted;
  AppendTfRecord(wanted, ExampleOf({{"tokens", TfInt64List(ids.begin(), ids.end())},
                                    {"segment_ids", TfInt64List{1, 2, 2, 3, 3, 0, 0}},
                                    {"positions", TfInt64List{0, 0, 1, 0, 1, 0, 0}}}));
  EXPECT_EQ(row, wanted);
  const std::string_view example = std::string_view(row).substr(12, row.size() - kTfRecordOverhead);
  RowIds read;
  PackedSegments back;
  ASSERT_TRUE(ParsePackedRow(example, read, &back).ok());
  EXPECT_EQ(read, ids);
  EXPECT_EQ(back, segments);
  EXPECT_EQ(WhyNoRow(example),
            "not a packed row: its features are {positions, segment_ids, tokens}, not {tokens}");
  std::string alone;
  AppendPackedExample(alone, ids, &segments);
  EXPECT_EQ(alone, example);
}

TEST(PackedTest, WeightsStandBehindTheIds) {
  const RowIds ids = {2, 300, 5, 2, 0}, weights = {0, 0, 1, 1, 0};
  std::string row;
  AppendPackedRow(row, ids, nullptr, weights);
  // The example of stages/export/packed/packed.md.
  EXPECT_EQ(row.substr(12, row.size() - kTfRecordOverhead),
            "\x0a\x2c\x0a\x14\x0a\x06tokens\x12\x0a\x1a\x08\x0a\x06\x02\xac\x02\x05\x02\x00"
            "\x0a\x14\x0a\x07weights\x12\x09\x1a\x07\x0a\x05\x00\x00\x01\x01\x00"sv);
  RowIds read, back;
  PackedSegments segments;
  const std::string_view example = std::string_view(row).substr(12, row.size() - kTfRecordOverhead);
  ASSERT_TRUE(ParsePackedRow(example, read, nullptr, &back).ok());
  EXPECT_EQ(read, ids);
  EXPECT_EQ(back, weights);
  EXPECT_EQ(WhyNoRow(example), "not a packed row: its features are {tokens, weights}, not {tokens}");
  const PackedSegments both = SegmentsOf(std::vector<std::uint32_t>{1}, 4, 5);
  std::string all;
  AppendPackedExample(all, ids, &both, weights);
  EXPECT_EQ(all, ExampleOf({{"tokens", TfInt64List(ids.begin(), ids.end())},
                            {"weights", TfInt64List(weights.begin(), weights.end())},
                            {"segment_ids", TfInt64List{1, 2, 2, 2, 0}},
                            {"positions", TfInt64List{0, 0, 1, 2, 0}}}));
  ASSERT_TRUE(ParsePackedRow(all, read, &segments, &back).ok());
  EXPECT_EQ(segments, both);
  EXPECT_EQ(back, weights);
  EXPECT_EQ(ParsePackedRow(ExampleOf({{"tokens", TfInt64List{1}}, {"weights", TfInt64List{-1}}}), read,
                           nullptr, &back)
                .message(),
            "not a packed row: value 0 is -1, which is no weight");
  EXPECT_EQ(ParsePackedRow(kExampleShard.substr(12, 25), read, nullptr, &back).message(),
            "not a packed row: its features are {tokens}, not {tokens, weights}");
}

TEST(PackedTest, RawIdsAreLittleEndian) {
  std::string two, four;
  AppendRawIds(two, RowIds{1, 0x1234}, 2);
  AppendRawIds(four, RowIds{1, 0x12345678}, 4);
  EXPECT_EQ(two, "\x01\x00\x34\x12"sv);
  EXPECT_EQ(four, "\x01\x00\x00\x00\x78\x56\x34\x12"sv);
  RowIds ids;
  ASSERT_TRUE(ParseRawIds(two, 2, ids).ok());
  EXPECT_EQ(ids, (RowIds{1, 0x1234}));
  ASSERT_TRUE(ParseRawIds(four, 4, ids).ok());
  EXPECT_EQ(ids, (RowIds{1, 0x12345678}));
  EXPECT_EQ(ParseRawIds("abc", 2, ids).message(), "not a packed row: 3 bytes are no multiple of 2");
}

TEST(PackedTest, RefusesWhatIsNoRow) {
  EXPECT_NE(WhyNoRow("\x0a\xff").find("not a tf.train.Example"), std::string::npos);
  EXPECT_EQ(WhyNoRow(""), "not a packed row: its features are {}, not {tokens}");
  EXPECT_EQ(WhyNoRow(ExampleOf({{"a", TfInt64List{1}}, {"tokens", TfInt64List{1}}})),
            "not a packed row: its features are {a, tokens}, not {tokens}");
  EXPECT_EQ(WhyNoRow(ExampleOf({{"tokens", TfBytesList{"1"}}})),
            "not a packed row: its feature tokens is no int64 list");
  EXPECT_EQ(WhyNoRow(ExampleOf({{"tokens", TfInt64List{1, -1}}})),
            "not a packed row: value 1 is -1, which is no id");
  EXPECT_EQ(WhyNoRow(ExampleOf({{"tokens", TfInt64List{std::int64_t{1} << 32}}})),
            "not a packed row: value 0 is 4294967296, which is no id");
}

TEST(PackedTest, RefusesWhatIsNoIndex) {
  EXPECT_TRUE(ParsePackedIndex("").ok());
  EXPECT_EQ(WhyNoIndex(kExampleIndex.substr(0, 39)),
            "not an index: it has 39 bytes, no multiple of 20: truncated");
  std::string bad(kExampleIndex);
  bad[0] = 1;
  EXPECT_EQ(WhyNoIndex(bad), "not an index: entry 0: offset 1 does not follow the one before");
  bad = kExampleIndex;
  bad[20] = 0;
  EXPECT_EQ(WhyNoIndex(bad), "not an index: entry 1: offset 0 does not follow the one before");
  bad = kExampleIndex;
  bad[28] = 1;
  EXPECT_EQ(WhyNoIndex(bad), "not an index: entry 1: length 1, where a row has at least 2");
}

TEST(PackedTest, NamesAnIndexThatAPatternForShardsDoesNotFind) {
  EXPECT_EQ(PackedShardName("train", 3, 8), "train-00003-of-00008.tfrecord");
  EXPECT_EQ(PackedIndexName("train", 3, 8), "train-00003-of-00008.idx");
  EXPECT_EQ(PackedIndexOf("/out/train-00003-of-00008.tfrecord"), "/out/train-00003-of-00008.idx");
  EXPECT_EQ(PackedIndexOf("set-train.tfrecord-00000-of-00001"), "");
  EXPECT_EQ(PackedShardName("train", 3, 8, PackedEncoding::kRaw16), "train-00003-of-00008.bin");
  EXPECT_EQ(PackedIndexName("train", 3, 8, PackedEncoding::kRaw32), "train-00003-of-00008.rows");
  EXPECT_EQ(PackedShardName("train", 3, 8, PackedEncoding::kMmap), "train/train-00003-of-00008.bin");
  EXPECT_EQ(PackedIndexOf("train/train-00003-of-00008.bin", PackedEncoding::kMmap),
            "train/train-00003-of-00008.idx");
  EXPECT_EQ(PackedIndexOf("a.array_record", PackedEncoding::kArrayRecord), "a.rows");
}

}  // namespace
}  // namespace pipeline
