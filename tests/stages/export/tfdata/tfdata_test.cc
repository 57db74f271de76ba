#include "stages/export/tfdata/tfdata.h"

#include <gtest/gtest.h>

#include <random>

#include "formats/tfrecord.h"

namespace pipeline {
namespace {

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex.append(hex.empty() ? "" : " ").push_back(kDigits[value >> 4]);
    hex.push_back(kDigits[value & 15]);
  }
  return hex;
}

std::string Elements(std::vector<std::uint32_t> ids, std::size_t width) {
  std::string packed, out;
  PackIds(packed, ids, width);
  EXPECT_EQ(packed.size(), ids.size() * width);
  AppendTfdataElements(out, packed, width);
  return out;
}

TEST(TfdataTest, TheExampleOfThePageAsTensorFlowWritesIt) {
  EXPECT_EQ(Hex(Elements({5, 70000, 2}, 4)),
            "0a 00 00 00 00 00 00 00 ae a3 bf 3a 08 03 12 00 22 04 05 00 00 00 d0 50 8a 90 "
            "0a 00 00 00 00 00 00 00 ae a3 bf 3a 08 03 12 00 22 04 70 11 01 00 52 79 b7 65 "
            "0a 00 00 00 00 00 00 00 ae a3 bf 3a 08 03 12 00 22 04 02 00 00 00 d1 42 16 42");
  EXPECT_EQ(Hex(TfdataSpec()), "8a 02 04 12 00 18 03");
  EXPECT_EQ(Hex(TfdataMetadataBytes({"1", 3})), "12 01 31 20 02 2a 01 03 30 03 c0 3e 01");
}

TEST(TfdataTest, ElementsAreFramesOfTheRecordOfEachId) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 2000; ++i) ids.push_back(static_cast<std::uint32_t>(random()) >> (1 + random() % 31));
  std::string framed;
  for (const std::uint32_t id : ids) {
    std::string record("\x08\x03\x12\x00\x22\x04", 6);
    for (int at = 0; at < 4; ++at) record.push_back(static_cast<char>(id >> (8 * at)));
    AppendTfRecord(framed, record);
    const auto parsed = ParseTfdataElement(record);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, id);
  }
  EXPECT_EQ(Elements(ids, 4), framed);
  for (std::uint32_t& id : ids) id &= 0xffff;
  EXPECT_EQ(Elements(ids, 2), Elements(ids, 4));
  EXPECT_EQ(PackedIdBytes(65536), 2u);
  EXPECT_EQ(PackedIdBytes(65537), 4u);
}

TEST(TfdataTest, RecordsOfAnotherKindAreNoElements) {
  for (const std::string& record : {std::string(), std::string("\x08\x03\x12\x00\x22\x04\x01\x00\x00", 9),
                                    std::string("\x08\x09\x12\x00\x22\x04\x01\x00\x00\x00", 10),
                                    std::string("\x08\x03\x12\x00\x22\x04\x01\x00\x00\x80", 10)})
    EXPECT_EQ(ParseTfdataElement(record).status().code(), Code::kDataLoss);
}

TEST(TfdataTest, MetadataComesBackAndOthersAreRefused) {
  for (const TfdataMetadata& metadata :
       {TfdataMetadata{"18446744073709551615", 1ull << 40}, TfdataMetadata{"7", 0}}) {
    const auto parsed = ParseTfdataMetadata(TfdataMetadataBytes(metadata));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, metadata);
  }
  const std::string good = TfdataMetadataBytes({"1", 3});
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {std::string("\x20\x02", 2), std::string("\x20\x01", 2)},
           {std::string("\x2a\x01\x03", 3), std::string("\x2a\x01\x09", 3)},
           {std::string("\xc0\x3e\x01", 3), std::string("\xc0\x3e\x00", 3)},
           {std::string("\x12\x01\x31", 3), std::string()},
           {std::string("\xc0\x3e\x01", 3), std::string("\xc0", 1)}}) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_EQ(ParseTfdataMetadata(bad).status().code(), Code::kDataLoss) << Hex(bad);
  }
}

TEST(TfdataTest, NamesFollowFromNamesAlone) {
  const std::string directory = TfdataDirectoryName("wikipedia", 3, 500);
  EXPECT_EQ(directory, "wikipedia-00003-of-00500");
  const std::string run = TfdataRunId(directory, DigestOf("a model"));
  EXPECT_EQ(run, TfdataRunId(directory, DigestOf("a model")));
  EXPECT_NE(run, TfdataRunId(directory, DigestOf("another")));
  const std::string snapshot = TfdataSnapshotName(directory, run);
  EXPECT_EQ(snapshot, directory + "/" + run + "/00000000.shard/00000000.snapshot");
  EXPECT_EQ(TfdataDirectoryOf(snapshot), directory);
  EXPECT_EQ(TfdataDirectoryOf("tfdata.json"), "");
}

}  // namespace
}  // namespace pipeline
