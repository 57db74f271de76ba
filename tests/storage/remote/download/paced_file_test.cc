#include "storage/remote/download/paced_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/fake_clock.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

using std::chrono::seconds;

/// Gives `piece` bytes after each `pause` of the clock.
class CrawlingFile final : public RangedFile {
 public:
  CrawlingFile(FakeClock& clock, std::string bytes) : clock_(clock), bytes_(std::move(bytes)) {}
  std::size_t piece = 100;
  std::chrono::nanoseconds pause{seconds(1)};
  mutable std::vector<std::uint64_t> opened;

  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token) const override {
    opened.push_back(begin);
    return std::unique_ptr<ByteReader>(std::make_unique<Reader>(*this, bytes_.substr(begin, end - begin)));
  }

 private:
  class Reader final : public ByteReader {
   public:
    Reader(const CrawlingFile& file, std::string bytes) : file_(file), bytes_(std::move(bytes), file.piece) {}
    Result<std::size_t> Read(std::span<char> out) override {
      file_.clock_.Advance(file_.pause);
      return bytes_.Read(out);
    }

   private:
    const CrawlingFile& file_;
    MemoryReader bytes_;
  };

  FakeClock& clock_;
  const std::string bytes_;
};

class PacedFileTest : public testing::Test {
 protected:
  PacedFile Begin(bool is_last, bool may_reconnect = true) {
    PacedFile::Pace pace{.server = "a", .connections = 1, .gate = std::make_shared<ServerGate>()};
    pace.name = "https://a/f";
    pace.is_last = is_last;
    pace.may_reconnect = may_reconnect;
    pace.note = [this](std::string_view line) { notes_.emplace_back(line); };
    pace.clock = &clock_;
    return PacedFile(file_, std::move(pace));
  }
  std::string Read(const PacedFile& file) {
    const auto reader = file.OpenRange(0, file.size(), {});
    return ReadAll(**reader, status_, 1000);
  }

  FakeClock clock_;
  const std::string bytes_ = std::string(30'000, 'x');
  std::shared_ptr<CrawlingFile> file_ = std::make_shared<CrawlingFile>(clock_, bytes_);
  std::vector<std::string> notes_;
  Status status_;
};

TEST_F(PacedFileTest, WhatIsFastEnoughIsLeftAlone) {
  file_->piece = 4096;
  EXPECT_EQ(Read(Begin(false)), bytes_);
  EXPECT_EQ(file_->opened, std::vector<std::uint64_t>{0});
  EXPECT_TRUE(notes_.empty());
}

TEST_F(PacedFileTest, ASlowTransferIsAskedAnewAndThenLeftForAnotherAddress) {
  EXPECT_EQ(Read(Begin(false)).size(), 12'000u);  // two times 60 s
  EXPECT_EQ(file_->opened, (std::vector<std::uint64_t>{0, 6000}));
  EXPECT_EQ(status_.code(), Code::kUnavailable);
  EXPECT_NE(status_.Detail<SlowServer>(), nullptr);
}

TEST_F(PacedFileTest, WithoutAnotherAddressItGoesOnAndSaysSoOncePerTime) {
  EXPECT_EQ(Read(Begin(true)), bytes_);
  EXPECT_TRUE(status_.ok()) << status_.message();
  EXPECT_EQ(file_->opened, (std::vector<std::uint64_t>{0, 6000}));
  ASSERT_EQ(notes_.size(), 5u);  // 300 s
  EXPECT_EQ(notes_[1],
            "https://a/f: only 100 bytes a second came over 60 s, at byte 12000 of 30000; it goes on, as "
            "there is no "
            "other address");
}

TEST_F(PacedFileTest, WhatCannotBePutTogetherIsNotAskedAnew) {
  EXPECT_EQ(Read(Begin(true, false)), bytes_);
  EXPECT_EQ(file_->opened, std::vector<std::uint64_t>{0});
}

TEST_F(PacedFileTest, TimeInWhichNobodyReadsDoesNotCount) {
  file_->pause = {};
  const PacedFile file = Begin(false);
  const auto reader = file.OpenRange(0, file.size(), {});
  std::string piece(100, '\0');
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE((*reader)->Read(piece).ok());
    clock_.Advance(seconds(10));
  }
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(file_->opened.size(), 1u);
}

}  // namespace
}  // namespace pipeline
