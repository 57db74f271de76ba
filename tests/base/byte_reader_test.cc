#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace pipeline {
namespace {

/// Gives at most three bytes at a time.
class Dripping final : public ByteReader {
 public:
  explicit Dripping(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t count = std::min({out.size(), bytes_.size() - at_, std::size_t{3}});
    bytes_.copy(out.data(), count, at_);
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

TEST(ReadExactlyTest, GathersShortReads) {
  Dripping reader("0123456789");
  std::string bytes(8, '\0');
  ASSERT_TRUE(ReadExactly(reader, bytes).ok());
  EXPECT_EQ(bytes, "01234567");
}

TEST(ReadExactlyTest, AnEarlyEndIsDataLossWithTheMissingBytes) {
  Dripping reader("01234");
  std::string bytes(8, '\0');
  const Status read = ReadExactly(reader, bytes);
  EXPECT_EQ(read.code(), Code::kDataLoss);
  EXPECT_EQ(read.message(), "ends 3 bytes too early: truncated");
}

TEST(ReadExactlyTest, NothingIsWantedOfAnEmptyReader) {
  Dripping reader("");
  EXPECT_TRUE(ReadExactly(reader, {}).ok());
}

}  // namespace
}  // namespace pipeline
