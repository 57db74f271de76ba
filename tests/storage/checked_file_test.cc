// Bytes that are other ones when they are read again are found, wherever reading begins and ends.
#include "storage/checked_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/str.h"

namespace pipeline {
namespace {

constexpr std::uint64_t kLast = 1 << 20;  // bytes of the last range
constexpr std::uint64_t kSize = 2 * kCheckedRange + kLast;

/// Zeros, and a byte that changes. It counts the bytes that are read.
struct Bytes {
  std::uint64_t changed = UINT64_MAX;  // where a byte is another one; none
  std::uint64_t read = 0;
};

class ZeroFile final : public ByteFile {
 public:
  explicit ZeroFile(Bytes& bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return kSize; }
  Result<std::unique_ptr<ByteReader>> Open(std::uint64_t offset, std::stop_token stop) const override {
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    return std::unique_ptr<ByteReader>(std::make_unique<Reader>(bytes_, offset));
  }

 private:
  class Reader final : public ByteReader {
   public:
    Reader(Bytes& bytes, std::uint64_t at) : bytes_(bytes), at_(at) {}
    Result<std::size_t> Read(std::span<char> out) override {
      const auto got = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), kSize - at_));
      std::fill_n(out.begin(), got, '\0');
      if (bytes_.changed >= at_ && bytes_.changed < at_ + got) out[bytes_.changed - at_] = 'x';
      at_ += got;
      bytes_.read += got;
      return got;
    }

   private:
    Bytes& bytes_;
    std::uint64_t at_;
  };
  Bytes& bytes_;
};

class CheckedFileTest : public testing::Test {
 protected:
  CheckedFileTest() : file_(std::make_unique<ZeroFile>(bytes_), Digests(), Watch()) {}

  static RangeDigests Digests() {
    RangeHasher hasher;
    const std::string zeros(3 << 20, '\0');  // divides no range
    for (std::uint64_t left = kSize; left > 0;) {
      const std::uint64_t some = std::min<std::uint64_t>(left, zeros.size());
      hasher.Update(std::string_view(zeros).substr(0, some));
      left -= some;
    }
    return hasher.Finish();
  }
  CheckedFile::Watch Watch() {
    return {[](std::uint64_t begin, std::uint64_t end) {
              return Status(Code::kFailedPrecondition, StrCat(begin / kCheckedRange, "-", end));
            },
            [this](std::uint64_t range) { same_.push_back(range); }};
  }
  /// Reads `bytes` from `offset`, fewer at the end; returns the failure.
  Status Read(std::uint64_t offset, std::uint64_t bytes) {
    const std::unique_ptr<ByteReader> reader = file_.Open(offset, {}).value();
    std::string piece(5 << 20, '\0');
    while (bytes > 0) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, piece.size()));
      const Result<std::size_t> got = reader->Read(std::span(piece).first(some));
      if (!got.ok()) {
        EXPECT_EQ(reader->Read(piece).status().message(), got.status().message()) << "it stays";
        return got.status();
      }
      if (*got == 0) break;
      bytes -= *got;
    }
    return {};
  }
  std::string Rest() { return std::string(file_.CompareRest({}).message()); }

  Bytes bytes_;
  std::vector<std::uint64_t> same_;
  CheckedFile file_;
};

TEST_F(CheckedFileTest, AFileThatIsReadFromTheFrontIsReadOnce) {
  EXPECT_TRUE(Read(0, kSize).ok());
  EXPECT_EQ(Rest(), "");
  EXPECT_EQ(bytes_.read, kSize);
  EXPECT_EQ(same_, (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST_F(CheckedFileTest, OtherBytesFailAtTheEndOfTheirRange) {
  bytes_.changed = kCheckedRange + 7;
  EXPECT_TRUE(Read(0, kCheckedRange).ok());
  EXPECT_EQ(Read(kCheckedRange, kSize).message(), StrCat("1-", 2 * kCheckedRange));
  EXPECT_EQ(Rest(), StrCat("1-", 2 * kCheckedRange)) << "it stays";
}

TEST_F(CheckedFileTest, AReaderThatBeginsInsideARangeComparesItWhole) {
  bytes_.changed = 7;
  EXPECT_EQ(Read(kCheckedRange - 100, kSize).message(), StrCat("0-", kCheckedRange))
      << "before its beginning";
}

TEST_F(CheckedFileTest, ARangeThatIsNotReadToItsEndIsComparedAtTheEndOfReading) {
  EXPECT_TRUE(Read(kCheckedRange, 10).ok());
  EXPECT_TRUE(Read(kCheckedRange + 99, 10).ok());
  EXPECT_EQ(Rest(), "");
  EXPECT_EQ(bytes_.read, kCheckedRange + 20) << "once, and no other range";
  EXPECT_EQ(Rest(), "");
  EXPECT_EQ(bytes_.read, kCheckedRange + 20);
  bytes_.changed = 2 * kCheckedRange - 1;
  EXPECT_EQ(Rest(), "") << "nothing was read since";
  EXPECT_TRUE(Read(kCheckedRange, 10).ok());
  EXPECT_EQ(Rest(), StrCat("1-", 2 * kCheckedRange));
}

TEST_F(CheckedFileTest, BytesThatAReaderTakesAfterAComparisonAreComparedOnceMore) {
  const std::unique_ptr<ByteReader> reader = file_.Open(100, {}).value();
  std::string piece(10, '\0');
  ASSERT_TRUE(reader->Read(piece).ok());
  EXPECT_EQ(Rest(), "") << "a partition is committed here, and the range is compared for it";
  bytes_.changed = 115;
  EXPECT_EQ(Rest(), "") << "nothing was read since";
  ASSERT_EQ(reader->Read(piece).value(), piece.size());
  EXPECT_EQ(Rest(), StrCat("0-", kCheckedRange)) << "the next partition has the changed byte";
}

TEST_F(CheckedFileTest, TheLastRangeIsShorter) {
  bytes_.changed = kSize - 1;
  EXPECT_EQ(Read(2 * kCheckedRange, kSize).message(), StrCat("2-", kSize));
}

TEST_F(CheckedFileTest, ComparingStops) {
  EXPECT_TRUE(Read(kCheckedRange, 10).ok());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(file_.CompareRest(stop.get_token()).code(), Code::kCancelled);
}

}  // namespace
}  // namespace pipeline
