#include "formats/array_record.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/digest.h"
#include "tests/support/map_store.h"

namespace pipeline {
namespace {

using namespace std::string_view_literals;

// The example of formats/array_record.md.
constexpr std::string_view kBegin =
    "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\x00\x00\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00"
    "\x91\xba\xc2\x3c\x92\x87\xe1\xa9\x00\x00\x00\x00\x00\x00\x00\x00\xe1\x9f\x13\xc0\xe9\xb1\xc3\x72"
    "\x73\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x42\x49\xb6\xce\xf2\x83\x6d\x3f\x0b\x00\x00\x00\x00\x00\x00\x00\xd5\x8a\x4f\x2b\xd5\x84\xc9\x46"
    "\x72\x01\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x01\x08\x72\x65\x63\x6f\x72\x64\x20\x30"sv;

std::string FileOf(const std::vector<std::string>& records) {
  ArrayRecordWriter writer;
  std::string file;
  for (const std::string& record : records) writer.Append(record, file);
  writer.Finish(file);
  return file;
}

/// Records of many sizes: some end right at a block, some take several.
std::vector<std::string> RandomRecords(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  std::vector<std::string> records(count);
  for (std::string& record : records) {
    record.resize(random() % 20 == 0 ? random() % 200'000 : random() % 3000);
    for (char& byte : record) byte = static_cast<char>(random());
  }
  return records;
}

std::string WhyNoArrayRecord(const std::string& bytes) {
  const StringFile file(bytes);
  const auto reader = ArrayRecordReader::Open(file, {});
  EXPECT_EQ(reader.status().code(), Code::kDataLoss);
  return std::string(reader.status().message());
}

TEST(ArrayRecordTest, WritesTheExample) {
  const std::string file = FileOf({"record 0"});
  EXPECT_EQ(file.substr(0, kBegin.size()), kBegin);
  EXPECT_EQ(file.size(), 131072u);
  EXPECT_TRUE(BeginsLikeArrayRecord(file));
  EXPECT_EQ(FileOf({}).size(), 131072u);
}

TEST(ArrayRecordTest, ReadsWhatItWrote) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const std::vector<std::string> records = RandomRecords(seed, seed * 7);
    const StringFile file(FileOf(records));
    const auto reader = ArrayRecordReader::Open(file, {});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ((*reader)->records(), records.size());
    for (const std::string& record : records) {
      const auto next = (*reader)->Next();
      ASSERT_TRUE(next.ok()) << next.status().message();
      ASSERT_EQ(**next, record);
    }
    EXPECT_FALSE((*reader)->Next()->has_value());
  }
}

TEST(ArrayRecordTest, SizesAroundABlockKeepItsRules) {
  // The chunk of one record ends at each of the places around the end of a block and its header.
  for (std::size_t size = 65536 - 200; size < 65536 + 60; ++size) {
    const std::string record(size, 'x');
    const StringFile file(FileOf({record, "y"}));
    const auto reader = ArrayRecordReader::Open(file, {});
    ASSERT_TRUE(reader.ok()) << size << ": " << reader.status().message();
    ASSERT_EQ(**(*reader)->Next(), record);
    ASSERT_EQ(**(*reader)->Next(), "y");
  }
}

TEST(ArrayRecordTest, SameBytesAsGooglesWriter) {
  // Of a file that array_record 0.8.6 wrote; tests/oracle/packed_test.py holds larger ones against the
  // library.
  EXPECT_EQ(DigestOf(FileOf({"record 0"})).ToHex(), "d910d8acaa91389614ef367c92128d45");
}

TEST(ArrayRecordTest, EveryFlippedByteOfARecordIsFoundAndTheNextOneIsRead) {
  const std::vector<std::string> records = {"first", std::string(70'000, 'm'), "last"};
  const std::string good = FileOf(records);
  for (std::size_t at = 64; at < 64 + 45; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const StringFile file(bad);
    const auto reader = ArrayRecordReader::Open(file, {});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ((*reader)->Next().status().code(), Code::kDataLoss) << at;
    EXPECT_EQ(**(*reader)->Next(), records[1]);
    EXPECT_EQ(**(*reader)->Next(), "last");
  }
}

TEST(ArrayRecordTest, RefusesWhatIsNone) {
  const std::string good = FileOf({"first", "last"});
  EXPECT_EQ(WhyNoArrayRecord(""),
            "not an ArrayRecord file: byte 0: the file ends here, not at a multiple of 65536 of two at "
            "least: truncated");
  EXPECT_NE(WhyNoArrayRecord(good.substr(0, 65536)).find("truncated"), std::string::npos);
  EXPECT_NE(WhyNoArrayRecord(good.substr(0, good.size() - 1)).find("truncated"), std::string::npos);
  EXPECT_NE(WhyNoArrayRecord(std::string(131072, '\0')).find("the header of the block"), std::string::npos);
  std::string bad = good;
  bad[5] = 'x';
  EXPECT_EQ(WhyNoArrayRecord(bad), "not an ArrayRecord file: byte 0: no signature");
  bad = good;
  bad[65536 + 24 + 45] ^= 1;  // in the postscript
  EXPECT_EQ(WhyNoArrayRecord(bad),
            "not an ArrayRecord file: byte 65536: the hash of the chunk's data does not fit");
}

}  // namespace
}  // namespace pipeline
