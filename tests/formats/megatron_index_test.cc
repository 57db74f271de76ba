#include "formats/megatron_index.h"

#include <gtest/gtest.h>

#include <string>

namespace pipeline {
namespace {

using namespace std::string_view_literals;

// The example of formats/megatron_index.md.
constexpr std::string_view kExampleIndex =
    "\x4d\x4d\x49\x44\x49\x44\x58\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x08"
    "\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
    "\x03\x00\x00\x00\x03\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"sv;

std::string WhyNoIndex(std::string_view bytes) {
  const auto index = ParseMegatronIndex(bytes);
  EXPECT_EQ(index.status().code(), Code::kDataLoss);
  return std::string(index.status().message());
}

std::string With(std::size_t at, char byte) {
  std::string bytes(kExampleIndex);
  bytes[at] = byte;
  return bytes;
}

TEST(MegatronIndexTest, WritesAndReadsTheExample) {
  const MegatronIndex index = MegatronRows(MegatronType::kUint16, 2, 3);
  EXPECT_EQ(EncodeMegatronIndex(index), kExampleIndex);
  const auto read = ParseMegatronIndex(kExampleIndex);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, index);
  const MegatronIndex other = {MegatronType::kInt32, {5, 0, 7}, {0, 2, 3}};
  EXPECT_EQ(*ParseMegatronIndex(EncodeMegatronIndex(other)), other);
}

TEST(MegatronIndexTest, ASplitWithoutRowsHasAnIndex) {
  EXPECT_EQ(EncodeMegatronIndex(MegatronRows(MegatronType::kInt32, 0, 3)).size(), 42u);
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
  EXPECT_EQ(WhyNoIndex(With(37, '\x80')), "not a Megatron index: sequence 0 has a length below 0");
  EXPECT_EQ(WhyNoIndex(With(50, 4)), "not a Megatron index: sequence 1 begins at byte 4, not 6");
  EXPECT_EQ(WhyNoIndex(With(58, 1)), "not a Megatron index: document index 0 is 1");
  EXPECT_EQ(WhyNoIndex(With(74, 1)), "not a Megatron index: its documents do not end with sequence 2");
}

}  // namespace
}  // namespace pipeline
