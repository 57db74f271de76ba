#include "dag/home/home.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/str.h"
#include "base/wait.h"
#include "dag/home/scratch.h"
#include "dag/location/versioned_lease.h"
#include "storage/forwarding_store.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

constexpr const char* kLocation = "gs://bucket/run";

UnitLine Done(const std::string& unit) {
  UnitLine line;
  line.unit = unit;
  line.segment = 1;
  line.recipe = DigestOf(unit);
  return line;
}

class HomeTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Home>> Hold(const std::string& scratch, std::stop_token stop = {}) {
    const LeaseTerms terms{scratch, scratch + ", process 1", "", std::chrono::milliseconds(100)};
    return Home::Hold(
        kLocation, std::make_unique<ForwardingStore>(faults_), terms,
        [this](std::string_view line) { notes_.emplace_back(line); }, std::move(stop));
  }
  Result<std::unique_ptr<RunLog>> OpenLog(Home& home) { return home.OpenLog(dir_ / "run.log", {}); }

  TempDir dir_;
  MemoryStore memory_;
  FaultStore faults_{memory_};
  std::vector<std::string> notes_;
};

TEST_F(HomeTest, HasOneNameForEveryMachine) {
  std::string holder;
  {
    const auto home = Hold("one");
    ASSERT_TRUE(home.ok()) << home.status().message();
    holder = (*home)->holder();
    EXPECT_EQ(holder.size(), 32u);
  }
  const auto home = Hold("two");
  ASSERT_TRUE(home.ok()) << home.status().message();
  EXPECT_EQ((*home)->holder(), holder);
  EXPECT_EQ(ReadObject(memory_, "holder", 100).value(), holder);
}

TEST_F(HomeTest, ASecondRunIsRefusedWithTheNameOfTheFirst) {
  const auto home = Hold("one");
  ASSERT_TRUE(home.ok());
  const Status second = Hold("two").status();
  EXPECT_EQ(second.code(), Code::kFailedPrecondition);
  EXPECT_NE(second.message().find("one, process 1"), std::string::npos) << second.message();
  EXPECT_TRUE((*home)->Check({}).ok());
}

TEST_F(HomeTest, TheWaitForAnotherRunCanBeStopped) {
  const auto home = Hold("one");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Hold("two", stop.get_token()).status().code(), Code::kCancelled);
}

TEST_F(HomeTest, TheLogOfAnotherMachineGoesOn) {
  {
    const auto home = Hold("one");
    const auto log = OpenLog(**home);
    ASSERT_TRUE(log.ok()) << log.status().message();
    ASSERT_TRUE((*log)->Append(Done("a/-")).ok());
  }
  // A line of this machine that never reached the home.
  ASSERT_TRUE(RunLog::Open(dir_ / "run.log").value()->Append(Done("never/-")).ok());
  TempDir other;
  const auto home = Hold("two");
  for (const std::string& path : {other / "run.log", dir_ / "run.log"}) {
    const auto log = (*home)->OpenLog(path, {});
    ASSERT_TRUE(log.ok()) << log.status().message();
    EXPECT_NE((*log)->FindDone("a/-"), nullptr);
    EXPECT_EQ((*log)->FindDone("never/-"), nullptr) << "the home did not win";
  }
}

TEST_F(HomeTest, ACompactedLogReplacesItsSegments) {
  {
    const auto home = Hold("one");
    const auto log = OpenLog(**home).value();
    for (int turn = 0; turn < 20; ++turn) {
      ASSERT_TRUE(log->Append(Done("a/-")).ok());
      if (turn % 5 == 0) {
        ASSERT_TRUE(log->Flush().ok());
      }
    }
  }
  EXPECT_EQ(memory_.List("log/")->size(), 5u);
  const auto home = Hold("one");
  const auto log = OpenLog(**home).value();
  const std::vector<ObjectInfo> left = memory_.List("log/").value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.front().name, "log/00000006-all");
  EXPECT_NE(log->FindDone("a/-"), nullptr);
}

TEST_F(HomeTest, TellsThatItIsLost) {
  const auto home = Hold("one");
  const auto log = OpenLog(**home).value();
  std::optional<Status> told;
  Mutex mutex;
  (*home)->Watch([&](Status why) {
    const Lock lock(mutex);
    told = std::move(why);
  });
  VersionedLease thief(memory_, kLocation, {"two", "two, process 2", "", std::chrono::milliseconds(100)});
  for (int turn = 0; turn < 100; ++turn) {
    const auto seen = thief.Look({});
    ASSERT_TRUE(seen.ok() && *seen);
    if (thief.Take(*seen, {}).ok()) break;
  }
  const auto is_told = [&] {
    const Lock lock(mutex);
    return told.has_value();
  };
  for (int turn = 0; turn < 10'000 && !is_told(); ++turn) WaitFor(std::chrono::milliseconds(1), {});
  ASSERT_TRUE(is_told());
  (*home)->Watch(nullptr);
  EXPECT_NE(told->Detail<LostLease>(), nullptr);
  EXPECT_FALSE((*home)->Check({}).ok());
  std::optional<Status> again;
  (*home)->Watch([&](Status why) { again = std::move(why); });
  EXPECT_TRUE(again.has_value()) << "who watches later is not told";
  (*home)->Watch(nullptr);
}

TEST_F(HomeTest, ARightThatIsMissingIsNamedBeforeAnyWork) {
  // The first write of the lease creates it, the second replaces it.
  for (const int commit : {1, 2}) {
    faults_.FailNth(FaultStore::Call::kCommit, commit, Status(Code::kPermissionDenied, "403"));
    const Status refused = Hold("one").status();
    EXPECT_EQ(refused.code(), Code::kPermissionDenied);
    EXPECT_NE(refused.message().find("storage.objects.delete"), std::string::npos) << refused.message();
    ASSERT_TRUE(memory_.Remove(kLeaseName).ok());
  }
  EXPECT_FALSE(memory_.Stat("holder")->has_value());
}

TEST(ScratchTest, BelongsToOneHome) {
  TempDir dir;
  const WorkDir scratch(dir / "scratch");
  EXPECT_TRUE(CheckScratch(scratch, kLocation).ok()) << "there is none yet";
  ASSERT_TRUE(ClaimScratch(scratch, kLocation).ok());
  EXPECT_TRUE(ClaimScratch(scratch, kLocation).ok());
  EXPECT_EQ(CheckScratch(scratch, "gs://bucket/other").code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckNoScratch(scratch).code(), Code::kInvalidArgument);
  const WorkDir work(dir / "work");
  ASSERT_TRUE(work.Create().ok());
  EXPECT_TRUE(CheckNoScratch(work).ok());
  EXPECT_TRUE(CheckScratch(work, kLocation).ok()) << "nothing was logged there";
  ASSERT_TRUE(RunLog::Open(work.log()).ok());
  EXPECT_EQ(CheckScratch(work, kLocation).code(), Code::kInvalidArgument);
}

TEST(ScratchTest, ASecondHomeHasOneBesideTheUsualOne) {
  TempDir dir;
  const std::string usual = dir / "name.scratch", other = "gs://bucket/other";
  EXPECT_EQ(ScratchFor(kLocation, usual), usual) << "there is none yet";
  ASSERT_TRUE(ClaimScratch(WorkDir(usual), kLocation).ok());
  EXPECT_EQ(ScratchFor(kLocation, usual), usual);
  const std::string second = ScratchFor(other, usual);
  EXPECT_EQ(second.find(usual + "-"), 0u) << second;
  EXPECT_TRUE(ClaimScratch(WorkDir(second), other).ok());
  EXPECT_EQ(ScratchFor(other, usual), second);
  EXPECT_NE(ScratchFor("gs://bucket/third", usual), second);
}

}  // namespace
}  // namespace pipeline
