#include "plugins/train/fetch_files.h"

#include <gtest/gtest.h>

#include <mutex>

#include "base/crc32c.h"
#include "base/str.h"
#include "storage/memory_store.h"
#include "tests/plugins/train/storage_call.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using Call = FaultStore::Call;

class FetchFilesTest : public testing::Test {
 protected:
  FetchFilesTest() {
    plan_ = {"gs://bkt/data", {}, here_ / "cache", "the rows"};
    for (int number = 0; number < 20; ++number) {
      const std::string name = StrCat("part/", number), bytes(1000, static_cast<char>(number));
      EXPECT_TRUE(WriteObject(memory_, "data/" + name, bytes, Condition::CreateOnly()).ok());
      plan_.files.push_back({name, bytes.size(), Crc32c(bytes)});
    }
  }

  Status Fetch() {
    StorageCall call(faulty_);
    const PluginStorage& storage = call.storage();
    told_ = 0;
    return FetchFiles(plan_, {.storage = storage,
                              .stopped = [this] { return stopped_; },
                              .tell = [this](std::uint64_t done, std::uint64_t) { told_ = done; },
                              .free_bytes = [this](const std::string&) { return free_; }});
  }
  int Opened() const { return faulty_.calls(Call::kOpen); }
  std::string Bytes(int number) const { return ReadFile(StrCat(plan_.directory, "/part/", number)); }

  TempDir here_;
  MemoryStore memory_;
  FaultStore faulty_{memory_};
  FetchPlan plan_;
  Result<std::uint64_t> free_ = std::uint64_t{1} << 40;
  bool stopped_ = false;
  std::uint64_t told_ = 0;
};

TEST_F(FetchFilesTest, BringsWhatIsMissingAndNothingElse) {
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(Opened(), 20);
  EXPECT_EQ(told_, 20'000u);
  EXPECT_EQ(Bytes(7), std::string(1000, 7));
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(Opened(), 20) << "all of it was there";
  EXPECT_EQ(told_, 20'000u);
}

TEST_F(FetchFilesTest, WhatIsWrongHereIsBroughtAgain) {
  ASSERT_TRUE(Fetch().ok());
  std::string flipped(1000, 3);
  flipped[500] ^= 1;
  WriteFile(StrCat(plan_.directory, "/part/3"), flipped);
  WriteFile(StrCat(plan_.directory, "/part/4"), "short");
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(Opened(), 22);
  EXPECT_EQ(Bytes(3), std::string(1000, 3));
  EXPECT_EQ(Bytes(4), std::string(1000, 4));
}

TEST_F(FetchFilesTest, WhatIsWrongThereIsNamedAndNotKept) {
  std::string flipped(1000, 9);
  flipped[0] ^= 0x40;
  ASSERT_TRUE(WriteObject(memory_, "data/part/9", flipped, Condition::ReplaceAny()).ok());
  const Status fetched = Fetch();
  EXPECT_EQ(fetched.code(), Code::kDataLoss);
  EXPECT_EQ(fetched.message().substr(0, 25), "gs://bkt/data/part/9: has") << fetched.message();
  EXPECT_FALSE(std::filesystem::exists(plan_.directory + "/part/9"));
}

TEST_F(FetchFilesTest, DiskThatIsTooSmallIsToldOfBeforeAByteMoves) {
  free_ = std::uint64_t{64} << 20;
  const Status fetched = Fetch();
  EXPECT_EQ(fetched.code(), Code::kResourceExhausted);
  EXPECT_NE(
      fetched.message().find("the rows of gs://bkt/data take 19.5 KiB more on this machine, and 64.0 MiB"),
      std::string_view::npos)
      << fetched.message();
  EXPECT_EQ(Opened(), 0);
}

TEST_F(FetchFilesTest, WhatWasBroughtBeforeAFailureStays) {
  faulty_.FailNth(Call::kOpen, 12, Status(Code::kPermissionDenied, "no"));
  EXPECT_EQ(Fetch().code(), Code::kPermissionDenied);
  const int before = Opened();
  ASSERT_TRUE(Fetch().ok());
  EXPECT_LE(Opened() - before, 9);
}

TEST_F(FetchFilesTest, WhatMayPassIsTriedAgain) {
  faulty_.FailNth(Call::kRead, 1, Status(Code::kUnavailable, "a damaged byte"));
  ASSERT_TRUE(Fetch().ok());
  EXPECT_EQ(told_, 20'000u);
}

TEST_F(FetchFilesTest, StopEndsIt) {
  stopped_ = true;
  EXPECT_EQ(Fetch().code(), Code::kCancelled);
  EXPECT_EQ(Opened(), 0);
}

}  // namespace
}  // namespace pipeline
