#include "storage/remote/http/part_file.h"

#include <gtest/gtest.h>

#include <string>

#include "base/crc32c.h"
#include "storage/kept_part.h"
#include "tests/support/temp_dir.h"

namespace pipeline {

namespace {

class PartFileTest : public testing::Test {
 protected:
  std::unique_ptr<PartFile> Open(std::string identity = "v1", std::uint64_t size = 100) {
    Result<std::unique_ptr<PartFile>> part = PartFile::Open(path_, std::move(identity), size);
    EXPECT_TRUE(part.ok()) << part.status().message();
    return part.ok() ? std::move(part).value() : nullptr;
  }
  static std::string Read(const PartFile& part, std::uint64_t offset) {
    std::string bytes(1000, '\0');
    const Result<std::size_t> got = part.ReadAt(offset, bytes);
    EXPECT_TRUE(got.ok()) << got.status().message();
    bytes.resize(got.ok() ? *got : 0);
    return bytes;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "spool/ja.txt.xz";
};

TEST_F(PartFileTest, GoesOnBehindWhatWasSynced) {
  {
    const auto part = Open();
    ASSERT_TRUE(part->Append("safe").ok());
    ASSERT_TRUE(part->Sync().ok());
    ASSERT_TRUE(part->Append(" torn").ok());
    EXPECT_EQ(Read(*part, 0), "safe torn");
  }
  const auto part = Open();
  EXPECT_EQ(part->state(), (PartState{"v1", 100, 4, Crc32c("safe")}));
  EXPECT_EQ(Read(*part, 0), "safe");
  ASSERT_TRUE(part->Append(" and sound").ok());
  EXPECT_EQ(part->state().crc32c, Crc32c("safe and sound"));
  EXPECT_EQ(Read(*part, 5), "and sound");
}

TEST_F(PartFileTest, BeginsAnewForAnotherStateOfTheRemoteFile) {
  const auto fill = [this] {
    const auto part = Open();
    ASSERT_TRUE(part->Append("bytes").ok() && part->Sync().ok());
  };
  fill();
  EXPECT_EQ(Open("v2")->state().bytes, 0u);
  fill();
  EXPECT_EQ(Open("v1", 99)->state().bytes, 0u);
}

TEST_F(PartFileTest, AJournalThatSaysMoreThanIsThereCountsAsNone) {
  {
    const auto part = Open();
    ASSERT_TRUE(part->Append("bytes").ok() && part->Sync().ok());
  }
  WriteFile(path_, "byte");
  EXPECT_EQ(Open()->state().bytes, 0u);
  EXPECT_EQ(ReadFile(path_), "");
}

TEST_F(PartFileTest, WhatWasForgottenIsFetchedAnew) {
  {
    const auto part = Open();
    ASSERT_TRUE(part->Append("wrong").ok() && part->Sync().ok());
    ASSERT_TRUE(part->Forget().ok());
    EXPECT_EQ(Read(*part, 0), "wrong");
  }
  EXPECT_EQ(Open()->state().bytes, 0u);
}

TEST_F(PartFileTest, GivesUpItsEndWhereThereIsNoRoomForItsJournal) {
  const std::string piece(1'000'000, 'x');
  std::string all;
  {
    const auto part = Open("v1", 30'000'000);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(part->Append(piece).ok());
    ASSERT_TRUE(part->Shorten().ok());
    EXPECT_LT(part->state().bytes, 20'000'000u);
    EXPECT_GT(part->state().bytes, 10'000'000u);
    all = piece;
    while (all.size() < part->state().bytes) all += piece;
    all.resize(part->state().bytes);
    EXPECT_EQ(part->state().crc32c, Crc32c(all));
    EXPECT_TRUE(ReadFile(path_) == all);
  }
  // Nothing is given up that was safe.
  const auto part = Open("v1", 30'000'000);
  ASSERT_EQ(part->state().bytes, all.size());
  ASSERT_TRUE(part->Append(piece).ok() && part->Shorten().ok());
  EXPECT_EQ(part->state(), (PartState{"v1", 30'000'000, all.size(), Crc32c(all)}));
  EXPECT_TRUE(ReadFile(path_) == all);
}

TEST_F(PartFileTest, AmongOthersItHasANameThatNoStoreHas) {
  const std::string path = KeptPartPath(dir_ / "big");
  {
    const auto part = PartFile::OpenAmongOthers(path, "v1", 100);
    ASSERT_TRUE(part.ok()) << part.status().message();
    ASSERT_TRUE((*part)->Append("bytes").ok() && (*part)->Sync().ok());
    const Status second = PartFile::OpenAmongOthers(path, "v1", 100).status();
    EXPECT_NE(second.Detail<PartIsTaken>(), nullptr) << second.message();
  }
  EXPECT_EQ(PartFile::OpenAmongOthers(path, "v1", 100).value()->state(),
            (PartState{"v1", 100, 5, Crc32c("bytes")}));
  EXPECT_EQ(PartFile::OpenAmongOthers(path, "v2", 100).value()->state().bytes, 0u);
}

TEST_F(PartFileTest, WhatANoteNamesIsDroppedOnceAndWhatIsBeforeItStays) {
  {
    const auto part = Open();
    ASSERT_TRUE(part->Append("good and bad").ok() && part->Sync().ok());
  }
  ASSERT_TRUE(WriteDropNote(path_, {"v1", 4, false}).ok());
  {
    const auto part = Open();
    EXPECT_EQ(part->state(), (PartState{"v1", 100, 4, Crc32c("good"), {}}));
    EXPECT_EQ(ReadFile(path_), "good");
    EXPECT_EQ(ReadDropNote(path_, "v1"), (DropNote{"v1", 4, true}));
    ASSERT_TRUE(part->Append(" and better").ok() && part->Sync().ok());
  }
  EXPECT_EQ(Open()->state().bytes, 15u);
}

TEST_F(PartFileTest, ANoteOfAnotherStateOrVersionCountsAsNone) {
  {
    const auto part = Open();
    ASSERT_TRUE(part->Append("good").ok() && part->Sync().ok());
  }
  ASSERT_TRUE(WriteDropNote(path_, {"v0", 0, false}).ok());
  EXPECT_EQ(Open()->state().bytes, 4u);
  WriteFile(path_ + ".again.json", R"({"version":2,"identity":"v1","from":0,"done":false})");
  EXPECT_EQ(Open()->state().bytes, 4u);
  EXPECT_EQ(ReadDropNote(path_, "v1"), std::nullopt);
}

TEST_F(PartFileTest, WhatIsWholeCountsWhateverItsServerSays) {
  {
    const auto part = Open();
    ASSERT_TRUE(part->Append("decoded").ok() && part->Resize(7).ok());
    part->DecodedFrom("sha256:00");
    ASSERT_TRUE(part->Sync().ok());
  }
  const auto part = Open("v1", 3);
  EXPECT_TRUE(part->is_whole());
  EXPECT_EQ(part->state(), (PartState{"v1", 7, 7, Crc32c("decoded"), "sha256:00"}));
}

TEST_F(PartFileTest, AFileThatTurnsOutSmallerThanWhatIsHereBeginsAnew) {
  const auto part = Open();
  ASSERT_TRUE(part->Append("bytes").ok() && part->Resize(4).ok());
  EXPECT_EQ(part->state(), (PartState{"v1", 4, 0, 0, {}}));
}

TEST(DropNote, EveryCutIsNone) {
  const std::string text = FormatDropNote({"v1 \"x\"", 5, true});
  EXPECT_EQ(*ParseDropNote(text), (DropNote{"v1 \"x\"", 5, true}));
  for (std::size_t bytes = 0; bytes + 2 < text.size(); ++bytes)
    EXPECT_FALSE(ParseDropNote(text.substr(0, bytes)).ok()) << bytes;
}

TEST_F(PartFileTest, ADirectoryInItsPlaceIsRefused) {
  std::filesystem::create_directories(path_);
  EXPECT_EQ(PartFile::Open(path_, "v1", 1).status().code(), Code::kInvalidArgument);
}

TEST(PartState, ReadsWhatItWrote) {
  const PartState state{"https://host/a \"quoted\"", 1ull << 40, 1ull << 33, 0xffffffffu, "md5:0"};
  const Result<PartState> read = ParsePartState(FormatPartState(state));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, state);
}

TEST(PartState, EveryCutOfAJournalIsNone) {
  const std::string text = FormatPartState({"v1", 100, 5, 7, {}});
  for (std::size_t bytes = 0; bytes + 2 < text.size(); ++bytes)
    EXPECT_FALSE(ParsePartState(text.substr(0, bytes)).ok()) << bytes;
  EXPECT_FALSE(ParsePartState(R"({"identity":"v1","size":4,"bytes":5,"crc32c":7})").ok());
  EXPECT_FALSE(ParsePartState(R"({"identity":"v1","size":4,"bytes":4,"crc32c":4294967296})").ok());
  EXPECT_FALSE(ParsePartState("[]").ok());
}

}  // namespace

}  // namespace pipeline
