#include "plugins/train/hosts/host_timing.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

using namespace std::chrono_literals;

TEST(HostTimingTest, AFactorShortensAllTimes) {
  const Result<HostTiming> fifth = TimingFor(30min, "0.2");
  ASSERT_TRUE(fifth.ok()) << fifth.status().message();
  EXPECT_EQ(fifth->renew, 2s);
  EXPECT_EQ(fifth->own_limit, 6s);
  EXPECT_EQ(fifth->given_up, 8s);
  EXPECT_EQ(fifth->poll, 600ms);
  EXPECT_EQ(fifth->decide, 10s);
  EXPECT_EQ(fifth->start_limit, 24s);
  EXPECT_EQ(fifth->longest_backoff, 12s);
  EXPECT_EQ(fifth->hosts_wait, 6min);
}

TEST(HostTimingTest, NoFactorLeavesTheTimesOfThePage) {
  const Result<HostTiming> timing = TimingFor(30min, {});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->renew, 10s);
  EXPECT_EQ(timing->own_limit, 30s);
  EXPECT_EQ(timing->given_up, 40s);
  EXPECT_EQ(timing->hosts_wait, 30min);
}

TEST(HostTimingTest, OtherTextsAndLongerTimesAreRefused) {
  for (const char* text : {"", "fast", "0.2s", "0", "-1", "1.5", "nan", "0.001"})
    EXPECT_EQ(TimingFor(30min, text).status().code(), Code::kInvalidArgument) << text;
}

}  // namespace
}  // namespace pipeline
