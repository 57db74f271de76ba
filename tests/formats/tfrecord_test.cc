#include "formats/tfrecord.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/crc32c.h"

namespace pipeline {
namespace {

using namespace std::string_view_literals;

// The examples of formats/tfrecord.md.
constexpr std::string_view kExampleData =
    "\x0a\x11\x0a\x0f\x0a\x04\x74\x65\x78\x74\x12\x07\x0a\x05\x0a\x03\xe7\x8c\xab"sv;
constexpr std::string_view kExampleFrame =
    "\x13\x00\x00\x00\x00\x00\x00\x00\x0c\x91\x32\x1b"
    "\x0a\x11\x0a\x0f\x0a\x04\x74\x65\x78\x74\x12\x07\x0a\x05\x0a\x03\xe7\x8c\xab"
    "\x6e\x6a\xf7\x55"sv;
constexpr std::string_view kEmptyFrame = "\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2"sv;

constexpr std::uint64_t kLimit = 1 << 20;

/// Gives at most `step` bytes at a time.
class StepReader final : public ByteReader {
 public:
  StepReader(std::string_view bytes, std::size_t step) : left_(bytes), step_(step) {}
  Result<std::size_t> Read(std::span<char> out) override {
    if (!failure.ok() && left_.empty()) return failure;
    const std::size_t size = left_.copy(out.data(), std::min(step_, out.size()));
    left_.remove_prefix(size);
    return size;
  }
  Status failure;  // what stands instead of the end

 private:
  std::string_view left_;
  std::size_t step_;
};

struct Outcome {
  std::vector<std::string> records;
  Status status;
  std::uint64_t offset = 0;
};

Outcome ReadAll(std::string_view file, std::size_t step = 1 << 20, std::uint64_t limit = kLimit) {
  StepReader input(file, step);
  TfRecordReader reader(input, limit);
  Outcome outcome;
  for (;;) {
    auto record = reader.Next();
    outcome.offset = reader.offset();
    if (!record.ok()) {
      outcome.status = record.status();
      EXPECT_EQ(reader.Next().status().message(), outcome.status.message()) << "an error stays";
      return outcome;
    }
    if (!record->has_value()) return outcome;
    outcome.records.emplace_back(**record);
  }
}

bool Says(const Status& status, std::string_view words) {
  return status.message().find(words) != std::string_view::npos;
}

TEST(TfRecordTest, WritesTheDocumentedBytes) {
  std::string out;
  AppendTfRecord(out, kExampleData);
  EXPECT_EQ(out, kExampleFrame);
  AppendTfRecord(out, "");
  EXPECT_EQ(out.substr(kExampleFrame.size()), kEmptyFrame);
  EXPECT_EQ(kEmptyFrame.size(), kTfRecordOverhead);
}

TEST(TfRecordTest, ARecordBuiltInPlaceIsTheSame) {
  std::string out = "before";
  AppendTfRecordHeader(out, kExampleData.size());
  const std::size_t begin = out.size();
  out += kExampleData;
  AppendTfRecordFooter(out, begin);
  EXPECT_EQ(out, "before" + std::string(kExampleFrame));
}

TEST(TfRecordTest, ReadsBackWhateverTheReadsCut) {
  std::vector<std::string> records = {"", "a", std::string(300, 'x'), std::string(70'000, 'y'), ""};
  std::string file;
  for (const std::string& record : records) AppendTfRecord(file, record);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, file.size()}) {
    const Outcome outcome = ReadAll(file, step);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.records, records);
    EXPECT_EQ(outcome.offset, file.size());
  }
}

TEST(TfRecordTest, AnEmptyFileHasNoRecords) {
  const Outcome outcome = ReadAll("");
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_TRUE(outcome.records.empty());
}

TEST(TfRecordTest, AFileCutInsideARecordIsTruncatedAtThatRecord) {
  std::string file;
  AppendTfRecord(file, "first");
  const std::size_t second = file.size();
  AppendTfRecord(file, "second");
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Outcome outcome = ReadAll(std::string_view(file).substr(0, size));
    if (size == 0 || size == second) {
      EXPECT_TRUE(outcome.status.ok()) << size;
      continue;
    }
    EXPECT_EQ(outcome.status.code(), Code::kDataLoss) << size;
    EXPECT_TRUE(Says(outcome.status, "truncated")) << outcome.status.message();
    EXPECT_FALSE(Says(outcome.status, "damaged")) << outcome.status.message();
    EXPECT_EQ(outcome.offset, size < second ? 0 : second);
  }
}

TEST(TfRecordTest, AFlippedBitNamesTheRecordAndTheChecksum) {
  std::string good;
  AppendTfRecord(good, "first");
  const std::size_t second = good.size();
  AppendTfRecord(good, "second");
  for (std::size_t bit = 8 * second; bit < 8 * good.size(); ++bit) {
    std::string file = good;
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << (bit % 8)));
    const Outcome outcome = ReadAll(file);
    EXPECT_EQ(outcome.records.size(), 1u) << bit;
    EXPECT_EQ(outcome.status.code(), Code::kDataLoss) << bit;
    const bool in_header = bit < 8 * (second + 12);
    EXPECT_TRUE(Says(outcome.status, in_header ? "CRC of the length" : "CRC of the data")) << bit;
    EXPECT_TRUE(Says(outcome.status, "offset " + std::to_string(second))) << outcome.status.message();
  }
}

TEST(TfRecordTest, ARecordAboveTheLimitIsRefusedBeforeItIsRead) {
  std::string file;
  AppendTfRecord(file, "12345678");
  EXPECT_TRUE(ReadAll(file, 4096, 8).status.ok());
  const Outcome outcome = ReadAll(file.substr(0, 12), 4096, 7);
  EXPECT_EQ(outcome.status.code(), Code::kResourceExhausted);
  EXPECT_TRUE(Says(outcome.status, "limit of 7")) << outcome.status.message();
}

TEST(TfRecordTest, AHugeLengthWithAGoodChecksumTakesNoMemory) {
  std::string file;
  AppendTfRecordHeader(file, ~std::uint64_t{0} >> 3);
  const Outcome outcome = ReadAll(file, 4096, ~std::uint64_t{0});
  EXPECT_EQ(outcome.status.code(), Code::kDataLoss);
  EXPECT_TRUE(Says(outcome.status, "truncated")) << outcome.status.message();
}

TEST(TfRecordTest, AFailingInputIsPassedOnAsItIs) {
  StepReader input(kExampleFrame.substr(0, 20), 7);
  input.failure = Status(Code::kUnavailable, "the network went away");
  TfRecordReader reader(input, kLimit);
  EXPECT_EQ(reader.Next().status().code(), Code::kUnavailable);
  EXPECT_EQ(reader.Next().status().message(), "the network went away");
}

TEST(TfRecordTest, AFileIsKnownByTheHeaderOfItsFirstFrame) {
  EXPECT_TRUE(BeginsLikeTfRecord(kExampleFrame));
  EXPECT_TRUE(BeginsLikeTfRecord(kExampleFrame.substr(0, 12)));
  EXPECT_FALSE(BeginsLikeTfRecord(kExampleFrame.substr(0, 11)));
  std::string damaged(kExampleFrame);
  damaged[8] ^= 1;
  EXPECT_FALSE(BeginsLikeTfRecord(damaged));
}

TEST(TfRecordTest, ARecordIsTakenOutOfAWholeFrame) {
  EXPECT_EQ(TfRecordIn(kExampleFrame), kExampleData);
  EXPECT_EQ(TfRecordIn(kEmptyFrame), "");
  EXPECT_FALSE(TfRecordIn(kExampleFrame.substr(1)));
  EXPECT_FALSE(TfRecordIn(kExampleFrame.substr(0, kExampleFrame.size() - 1)));
  EXPECT_FALSE(TfRecordIn("x"));
}

}  // namespace
}  // namespace pipeline
