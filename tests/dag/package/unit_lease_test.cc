#include "dag/package/unit_lease.h"

#include <gtest/gtest.h>

#include "storage/memory_store.h"
#include "tests/support/fault_store.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds, std::chrono::minutes, std::chrono::seconds;

constexpr std::int64_t kNow = 1'769'860'800'000;

SeenUnitLease Begun(std::chrono::milliseconds before_now, std::optional<std::chrono::milliseconds> ran) {
  SeenUnitLease lease;
  lease.began = kNow - before_now.count();
  lease.ran = ran;
  return lease;
}

TEST(UnitLeaseTest, TheAgeOfALeaseIsThatOfTheClocksIfTheyAgree) {
  EXPECT_EQ(AgeOf(Begun(seconds(20), milliseconds(0)), kNow).time, seconds(20));
  const LeaseAge age = AgeOf(Begun(minutes(10), minutes(10) - seconds(14)), kNow);
  EXPECT_EQ(age.time, minutes(10));
  EXPECT_FALSE(age.at_last_sign);
}

TEST(UnitLeaseTest, WhereClocksAreApartTheMeasuredTimeCounts) {
  // The clock of the worker is five minutes ahead, or behind.
  for (const milliseconds apart : {milliseconds(minutes(5)), milliseconds(-minutes(5))}) {
    const LeaseAge age = AgeOf(Begun(seconds(50) - apart, seconds(45)), kNow);
    EXPECT_EQ(age.time, seconds(45));
    EXPECT_TRUE(age.at_last_sign);
  }
  EXPECT_TRUE(AgeOf(Begun(minutes(3), milliseconds(0)), kNow).at_last_sign) << "or the worker is dead";
}

TEST(UnitLeaseTest, ALeaseOfAnEarlierProgramHasNoMeasuredTime) {
  EXPECT_EQ(AgeOf(Begun(minutes(3), std::nullopt), kNow).time, minutes(3));
  EXPECT_EQ(AgeOf(Begun(-minutes(3), std::nullopt), kNow).time, seconds(0)) << "never negative";
  EXPECT_EQ(AgeOf({}, kNow).time, seconds(0));
}

TEST(UnitLeaseTest, EachSignOfLifeTellsHowLongTheWorkerRan) {
  MemoryStore store;
  Result<std::optional<UnitLease>> lease = UnitLease::Take(store, {"n", "vm-2"}, "text/0000-*", {});
  ASSERT_TRUE(lease.ok() && lease->has_value());
  const milliseconds before = *ReadUnitLease(store, (*lease)->object(), {})->ran;
  EXPECT_LT(before, seconds(10));
  ASSERT_TRUE((*lease)->Renew({}).ok());
  EXPECT_GE(*ReadUnitLease(store, (*lease)->object(), {})->ran, before);
}

TEST(UnitLeaseTest, ALeaseThatAnotherWorkerTookOverStays) {
  MemoryStore store;
  UnitLease mine = **UnitLease::Take(store, {"a", "vm-1"}, "text/0000-*", {});
  const auto theirs = UnitLease::TakeOver(store, {"b", "vm-2"}, "text/0000-*", mine.object(), {});
  ASSERT_TRUE(theirs.ok() && theirs->has_value());
  EXPECT_EQ((*theirs)->before()->who, "vm-1");
  EXPECT_TRUE(mine.GiveBack().ok());
  EXPECT_EQ(mine.Renew({}).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(mine.GiveBack().ok());
  EXPECT_EQ(ReadUnitLease(store, (*theirs)->object(), {})->who, "vm-2");
}

TEST(UnitLeaseTest, ARenewalWhoseAnswerWasLostIsFoundAgain) {
  MemoryStore memory;
  FaultStore store(memory);
  for (const bool renews : {true, false}) {
    UnitLease lease = **UnitLease::Take(store, {"a", "vm-1"}, "text/0000-*", {});
    store.LoseAnswerOfCommit(1);
    EXPECT_EQ(lease.Renew({}).code(), Code::kUnavailable);
    EXPECT_EQ(lease.object().version, "");
    if (renews) {
      EXPECT_TRUE(lease.Renew({}).ok());
    }
    EXPECT_TRUE(lease.GiveBack().ok());
    EXPECT_TRUE(memory.List("")->empty());
  }
  UnitLease mine = **UnitLease::Take(store, {"a", "vm-1"}, "text/0000-*", {});
  store.LoseAnswerOfCommit(1);
  EXPECT_FALSE(mine.Renew({}).ok());
  const ObjectInfo silent = memory.List("")->front();
  ASSERT_TRUE(UnitLease::TakeOver(store, {"b", "vm-2"}, "text/0000-*", silent, {})->has_value());
  EXPECT_TRUE(mine.GiveBack().ok());
  EXPECT_EQ(memory.List("")->size(), 1u) << "it is another worker's now";
}

}  // namespace
}  // namespace pipeline
