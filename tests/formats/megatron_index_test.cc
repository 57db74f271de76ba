#include "formats/megatron_index.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tests/formats/megatron_file.h"

namespace pipeline {
namespace {

using namespace std::string_view_literals;

// The examples of formats/megatron_index.md: rows, and documents.
constexpr std::string_view kExampleIndex =
    "\x4d\x4d\x49\x44\x49\x44\x58\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08"
    "\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
    "\x03\x00\x00\x00\x03\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"sv;
constexpr std::string_view kDocumentsIndex =
    "\x4d\x4d\x49\x44\x49\x44\x58\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08"
    "\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
    "\x05\x00\x00\x00\x02\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"sv;

std::string WhyNoIndex(std::string_view bytes) {
  const auto index = MegatronSequencesIn(bytes);
  EXPECT_EQ(index.status().code(), Code::kDataLoss);
  return std::string(index.status().message());
}

std::string With(std::size_t at, char byte) {
  std::string bytes(kExampleIndex);
  bytes[at] = byte;
  return bytes;
}

TEST(MegatronIndexTest, WritesAndReadsTheExamples) {
  const MegatronSequences rows = {MegatronType::kUint16, {3, 3}}, documents = {MegatronType::kUint16, {5, 2}};
  EXPECT_EQ(MegatronIndexOf(rows), kExampleIndex);
  EXPECT_EQ(MegatronIndexOf(documents), kDocumentsIndex);
  for (const auto& [index, sequences] :
       {std::pair(kExampleIndex, rows), std::pair(kDocumentsIndex, documents)}) {
    const auto read = MegatronSequencesIn(index);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, sequences);
  }
  const MegatronSequences empty = {MegatronType::kInt32, {}};
  EXPECT_EQ(MegatronIndexOf(empty).size(), 42u);
  EXPECT_EQ(*MegatronSequencesIn(MegatronIndexOf(empty)), empty);
}

/// More than the writer and the reader hold at once, and as many as they do.
TEST(MegatronIndexTest, ManySequencesAreWrittenAndReadInParts) {
  for (const std::size_t count : {(1u << 15) - 1, 1u << 15, (1u << 15) + 1, 100'001u}) {
    MegatronSequences many = {MegatronType::kInt32, std::vector<std::uint32_t>(count)};
    std::iota(many.lengths.begin(), many.lengths.end(), 0u);
    MegatronIndexWriter writer(many.type);
    for (const std::uint32_t ids : many.lengths) writer.Add(ids);
    std::string bytes;
    std::size_t longest = 0;
    ASSERT_TRUE(writer
                    .Finish([&](std::string_view part) {
                      longest = std::max(longest, part.size());
                      bytes += part;
                      return Status();
                    })
                    .ok());
    EXPECT_EQ(bytes.size(), 34 + 12 * count + 8 * (count + 1));
    EXPECT_LT(longest, std::size_t{300'000});
    EXPECT_EQ(*MegatronSequencesIn(bytes), many);
    bytes.back() = 1;
    EXPECT_EQ(
        WhyNoIndex(bytes).find("not a Megatron index: document index " + std::to_string(count) + " is "), 0u);
  }
}

TEST(MegatronIndexTest, AFailureEndsTheWriting) {
  int calls = 0;
  MegatronIndexWriter writer(MegatronType::kInt32);
  for (int sequence = 0; sequence < 200'000; ++sequence) writer.Add(1);
  const Status written = writer.Finish(
      [&calls](std::string_view) { return ++calls == 2 ? Status(Code::kUnavailable, "full") : Status(); });
  EXPECT_EQ(written.message(), "full");
  EXPECT_EQ(calls, 2);
}

TEST(MegatronIndexTest, TheTypeIsTheOneThatMegatronChooses) {
  EXPECT_EQ(MegatronTypeOf(65499), MegatronType::kUint16);
  EXPECT_EQ(MegatronTypeOf(65500), MegatronType::kInt32);
}

TEST(MegatronIndexTest, RefusesWhatIsNone) {
  EXPECT_EQ(WhyNoIndex(""), "not a Megatron index: it does not begin with MMIDIDX");
  EXPECT_EQ(WhyNoIndex(With(9, 2)), "not a Megatron index: version 2, not 1");
  EXPECT_EQ(WhyNoIndex(With(17, 5)), "not a Megatron index: type 5, neither int32 (4) nor uint16 (8)");
  EXPECT_EQ(WhyNoIndex(kExampleIndex.substr(0, 81)),
            "not a Megatron index: 81 bytes are not those of 2 sequences and 3 document indices");
  EXPECT_EQ(WhyNoIndex(With(18, 3)),
            "not a Megatron index: 82 bytes are not those of 3 sequences and 3 document indices");
  std::string fewer(kExampleIndex.substr(0, 74));
  fewer[26] = 2;
  EXPECT_EQ(WhyNoIndex(fewer),
            "not a Megatron index: 2 document indices, where each of 2 sequences should be a document");
  EXPECT_EQ(WhyNoIndex(With(37, '\x80')), "not a Megatron index: sequence 0 has a length below 0");
  EXPECT_EQ(WhyNoIndex(With(50, 4)), "not a Megatron index: sequence 1 begins at byte 4, not 6");
  const std::string why = ", where each sequence is a document";
  EXPECT_EQ(WhyNoIndex(With(58, 1)), "not a Megatron index: document index 0 is 1" + why);
  EXPECT_EQ(WhyNoIndex(With(66, 2)), "not a Megatron index: document index 1 is 2" + why);
  EXPECT_EQ(WhyNoIndex(With(74, 1)), "not a Megatron index: document index 2 is 1" + why);
}

}  // namespace
}  // namespace pipeline
