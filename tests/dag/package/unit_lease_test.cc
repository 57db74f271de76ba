#include "dag/package/unit_lease.h"

#include <gtest/gtest.h>

#include "storage/memory_store.h"

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
  EXPECT_LT(*ReadUnitLease(store, "text/0000-*", {})->ran, seconds(10));
  const milliseconds before = *ReadUnitLease(store, "text/0000-*", {})->ran;
  ASSERT_TRUE((*lease)->Renew({}).ok());
  EXPECT_GE(*ReadUnitLease(store, "text/0000-*", {})->ran, before);
}

}  // namespace
}  // namespace pipeline
