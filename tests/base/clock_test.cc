#include "base/clock.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace pipeline {
namespace {

TEST(ClockTest, TheFakeClockMovesOnlyWhenTold) {
  FakeClock clock;
  EXPECT_EQ(clock.Monotonic().count(), 0);
  clock.Advance(std::chrono::milliseconds(1500));
  EXPECT_EQ(clock.Monotonic(), std::chrono::milliseconds(1500));
  EXPECT_EQ(clock.UnixMillis(), 1500);
}

TEST(ClockTest, TheSystemClockDoesNotGoBackAndIsInThisCentury) {
  const auto first = SystemClock().Monotonic();
  EXPECT_GE(SystemClock().Monotonic(), first);
  EXPECT_GT(SystemClock().UnixMillis(), 1'600'000'000'000);
}

TEST(ClockTest, WritesTimesInUtc) {
  EXPECT_EQ(Iso8601(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Iso8601(1'769'862'896'999), "2026-01-31T12:34:56Z");
  EXPECT_EQ(Iso8601(951'782'400'000), "2000-02-29T00:00:00Z");
}

}  // namespace
}  // namespace pipeline
