#include "storage/remote/http/rate_limit.h"

#include <gtest/gtest.h>

#include "tests/support/counted_pause.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RateLimitTest : public testing::Test {
 protected:
  FakeClock clock_;
  CountedPause pause_{&clock_};
};

TEST_F(RateLimitTest, WaitsForWhatWasTaken) {
  clock_.Advance(seconds(100));
  RateLimit limit(1000, clock_, pause_);
  ASSERT_TRUE(limit.Wait({}).ok());
  EXPECT_EQ(pause_.Sum(), seconds(0)) << "waited for nothing";
  for (int i = 0; i < 50; ++i) {
    limit.Take(500);
    ASSERT_TRUE(limit.Wait({}).ok());
  }
  EXPECT_EQ(pause_.Sum(), milliseconds(25'000 - 100)) << "but for what was saved up";
}

TEST_F(RateLimitTest, WhatIsNotUsedIsSavedForAMomentOnly) {
  RateLimit limit(1000, clock_, pause_);
  clock_.Advance(std::chrono::hours(1));
  limit.Take(1000);
  ASSERT_TRUE(limit.Wait({}).ok());
  EXPECT_EQ(pause_.Sum(), milliseconds(900));
}

TEST_F(RateLimitTest, WithoutALimitNothingWaits) {
  RateLimit limit(0, clock_, pause_);
  limit.Take(std::uint64_t{1} << 60);
  EXPECT_TRUE(limit.Wait({}).ok());
  EXPECT_TRUE(pause_.taken.empty());
}

TEST_F(RateLimitTest, AStopEndsTheWaiting) {
  RateLimit limit(1, clock_, pause_);
  limit.Take(1000);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(limit.Wait(stop.get_token()).code(), Code::kCancelled);
}

}  // namespace
}  // namespace pipeline
