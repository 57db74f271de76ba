#include "storage/remote/download/mirrored_file.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/str.h"
#include "storage/remote/download/paced_file.h"
#include "storage/remote/http/http_facts.h"
#include "tests/storage/store_reading.h"
#include "tests/support/counted_pause.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

/// What stands at one address, and how it fails.
struct Place {
  std::string bytes = {};
  std::size_t break_at = std::string::npos;  // each reader fails there
  Status failure = Status(Code::kUnavailable, "broke");
  Status closed = {};  // not OK: nobody gets in
};

class PlacedFile final : public RangedFile {
 public:
  explicit PlacedFile(const Place& place) : place_(place) {}
  std::uint64_t size() const override { return place_.bytes.size(); }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override {
    const std::uint64_t until = std::min<std::uint64_t>(end, place_.break_at);
    const std::string bytes = begin < until ? place_.bytes.substr(begin, until - begin) : "";
    return std::unique_ptr<ByteReader>(std::make_unique<MemoryReader>(
        bytes, 1000, std::move(stop), until < end ? place_.failure : Status()));
  }

 private:
  const Place& place_;
};

class MirroredFileTest : public testing::Test {
 protected:
  std::unique_ptr<MirroredFile> Begin(std::uint64_t size = 100'000) {
    const auto open = [this](const std::string& url, std::uint64_t, bool is_last,
                             std::stop_token) -> Result<std::shared_ptr<const RangedFile>> {
      asked_.push_back(url);
      lasts_.push_back(is_last);
      const Place& place = places_.at(url);
      if (!place.closed.ok()) return place.closed;
      return std::shared_ptr<const RangedFile>(std::make_shared<PlacedFile>(place));
    };
    std::vector<std::string> urls;
    for (const auto& [url, place] : places_) urls.push_back(url);
    return std::make_unique<MirroredFile>(
        urls, size, open, [this](std::string_view line) { notes_.emplace_back(line); },
        RetryMeans{.policy = {}, .clock = &clock_, .pause = &pause_});
  }
  std::string ReadFrom(const MirroredFile& file, std::uint64_t begin, std::uint64_t end = 100'000) {
    const auto reader = file.OpenRange(begin, end, {});
    EXPECT_TRUE(reader.ok());
    status_ = {};
    return ReadAll(**reader, status_, 3000);
  }

  const std::string bytes_ = PatternBytes(100'000);
  std::map<std::string, Place> places_ = {{"https://a/f", {bytes_}}, {"https://b/f", {bytes_}}};
  std::vector<std::string> asked_, notes_;
  std::vector<bool> lasts_;
  FakeClock clock_;
  CountedPause pause_{&clock_};
  Status status_;
};

TEST_F(MirroredFileTest, TheFirstIsEnoughWhileItIsThere) {
  const auto file = Begin();
  EXPECT_TRUE(asked_.empty());
  EXPECT_TRUE(ReadFrom(*file, 0) == bytes_);
  EXPECT_TRUE(ReadFrom(*file, 70'000) == bytes_.substr(70'000));
  EXPECT_TRUE(ReadFrom(*file, 10, 20) == bytes_.substr(10, 10));
  EXPECT_EQ(asked_, std::vector<std::string>{"https://a/f"});
}

TEST_F(MirroredFileTest, TheNextGoesOnAtTheByteWhereOneBroke) {
  places_["https://a/f"].break_at = 40'000;
  const auto file = Begin();
  EXPECT_TRUE(ReadFrom(*file, 0) == bytes_) << status_.message();
  EXPECT_EQ(asked_, (std::vector<std::string>{"https://a/f", "https://b/f"}));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_EQ(notes_[0], "broke; going on at https://b/f");
  EXPECT_TRUE(pause_.taken.empty()) << "waited although another was there";
  EXPECT_TRUE(ReadFrom(*file, 0) == bytes_) << "and stays there";
}

TEST_F(MirroredFileTest, WhatCannotBeReachedOrIsNotThereIsPassedOver) {
  for (const Code code :
       {Code::kUnavailable, Code::kNotFound, Code::kPermissionDenied, Code::kInvalidArgument}) {
    places_["https://a/f"].closed = Status(code, "https://a/f: no");
    EXPECT_TRUE(ReadFrom(*Begin(), 0) == bytes_) << status_.message();
  }
}

TEST_F(MirroredFileTest, AFileOfAnotherSizeIsNotIt) {
  places_["https://a/f"].bytes += "more";
  EXPECT_TRUE(ReadFrom(*Begin(), 0) == bytes_) << status_.message();
  EXPECT_NE(notes_.at(0).find("has 100004 bytes, and not 100000 as the others"), std::string::npos)
      << notes_[0];
}

TEST_F(MirroredFileTest, OtherSizesAreTakenOneByOneAndOnce) {
  places_["https://a/f"].bytes += "more";
  places_["https://b/f"].bytes += "even more";
  const auto file = Begin();
  EXPECT_EQ(ReadFrom(*file, 0), "");
  EXPECT_NE(status_.Detail<OtherSize>(), nullptr) << status_.message();
  ASSERT_TRUE(file->TakeOtherSize());
  EXPECT_EQ(file->size(), 100'004u);
  EXPECT_TRUE(ReadFrom(*file, 0, 100'004) == bytes_ + "more") << status_.message();
  EXPECT_FALSE(file->TakeOtherSize());  // nobody has said anything since
}

TEST_F(MirroredFileTest, ASlowAddressIsAskedAgainWhereNoOtherIsLeft) {
  places_["https://a/f"].break_at = 30'000;
  places_["https://a/f"].failure = Status(Code::kUnavailable, "slow").With(std::make_shared<SlowServer>());
  places_["https://b/f"].break_at = 60'000;
  places_["https://b/f"].failure = Status(Code::kNotFound, "gone");
  const auto file = Begin();
  lasts_.clear();
  std::string read;
  const auto reader = file->OpenRange(0, 100'000, {});
  std::string piece(1000, '\0');
  for (Result<std::size_t> got = 1; got.ok() && *got > 0;) {
    got = (*reader)->Read(piece);
    if (got.ok()) read.append(piece, 0, *got);
    if (read.size() == 60'000) places_["https://a/f"] = {bytes_};  // it goes on, slowly
  }
  EXPECT_TRUE(read == bytes_);
  EXPECT_EQ(asked_, (std::vector<std::string>{"https://a/f", "https://b/f", "https://a/f"}));
  EXPECT_EQ(lasts_, (std::vector<bool>{false, false, true}));
}

TEST_F(MirroredFileTest, GoesRoundAsLongAsThereIsHope) {
  places_["https://a/f"].break_at = 30'000;
  places_["https://b/f"].closed = Status(Code::kUnavailable, "https://b/f: no answer");
  const auto file = Begin();
  EXPECT_EQ(ReadFrom(*file, 0).size(), 30'000u);
  EXPECT_EQ(status_.code(), Code::kUnavailable);
  EXPECT_NE(status_.message().find("tried "), std::string_view::npos) << status_.message();
  EXPECT_GE(pause_.Sum(), std::chrono::minutes(9)) << "gave up too soon";
}

TEST_F(MirroredFileTest, WhatFailedForGoodEverywhereIsTheFailure) {
  places_["https://a/f"].closed = Status(Code::kNotFound, "https://a/f: not found");
  places_["https://b/f"].closed = Status(Code::kPermissionDenied, "https://b/f: forbidden");
  EXPECT_EQ(ReadFrom(*Begin(), 0), "");
  EXPECT_EQ(status_.code(), Code::kPermissionDenied);
  EXPECT_TRUE(pause_.taken.empty());
}

TEST_F(MirroredFileTest, WhatChangedIsOpenedAnew) {
  places_.erase("https://b/f");
  places_["https://a/f"].break_at = 50'000;
  places_["https://a/f"].failure = Status(Code::kDataLoss, "https://a/f: changed while it was read");
  const auto file = Begin();
  const auto reader = file->OpenRange(0, 100'000, {});
  ASSERT_TRUE(reader.ok());
  std::string front(50'000, '\0');
  ASSERT_TRUE(ReadExactly(**reader, front).ok());
  places_["https://a/f"].break_at = std::string::npos;
  EXPECT_TRUE(front + ReadAll(**reader, status_) == bytes_) << status_.message();
  EXPECT_EQ(asked_.size(), 2u);
}

TEST_F(MirroredFileTest, AStopIsNoReasonToGoElsewhere) {
  const auto file = Begin();
  std::stop_source stop;
  const auto reader = file->OpenRange(0, 100'000, stop.get_token());
  std::string piece(10, '\0');
  ASSERT_TRUE((*reader)->Read(piece).ok());
  stop.request_stop();
  EXPECT_EQ((*reader)->Read(piece).status().code(), Code::kCancelled);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(MirroredFileTest, WhoGaveAllOfTheWrongBytesIsAskedNoMore) {
  const auto file = Begin();
  ReadFrom(*file, 0);
  EXPECT_TRUE(file->Invalidate(true));
  ReadFrom(*file, 0);
  EXPECT_EQ(asked_, (std::vector<std::string>{"https://a/f", "https://b/f"}));
  EXPECT_FALSE(file->Invalidate(true)) << "nobody is left";
}

TEST_F(MirroredFileTest, WrongBytesOfSeveralBlameNobodyAndAreFetchedAFewTimesMore) {
  const auto file = Begin();
  EXPECT_TRUE(file->Invalidate(false)) << "what an earlier run left was part of it";
  EXPECT_TRUE(file->Invalidate(false));
  EXPECT_FALSE(file->Invalidate(false));
  EXPECT_TRUE(ReadFrom(*file, 0) == bytes_);
}

TEST_F(MirroredFileTest, AnAddressWithoutOthersGivesTheSameAgain) {
  places_.erase("https://b/f");
  const auto file = Begin();
  ReadFrom(*file, 0);
  EXPECT_FALSE(file->Invalidate(true));
}

}  // namespace
}  // namespace pipeline
