#include "base/attendance.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds;

class AttendanceTest : public testing::Test {
 protected:
  AttendanceTest()
      : before_(SetLogSink([this](Level, std::string_view line) { told_.emplace_back(line); })) {}
  ~AttendanceTest() override { SetLogSink(std::move(before_)); }

  std::vector<std::string> told_;
  LogSink before_;
};

TEST_F(AttendanceTest, NobodyWaitsUnlessSomebodySaysSo) {
  EXPECT_EQ(PresentWait(), nullptr);
  {
    const Attendance outer({});
    const auto wait = PresentWait();
    ASSERT_NE(wait, nullptr);
    {
      const Attendance inner({});
      EXPECT_NE(PresentWait(), wait);
    }
    EXPECT_EQ(PresentWait(), wait);
  }
  EXPECT_EQ(PresentWait(), nullptr);
}

TEST_F(AttendanceTest, RequestsStopWithThePersonAndNotAfterTheWait) {
  std::stop_source person;
  std::shared_ptr<AttendedWait> later;
  {
    const Attendance attendance(person.get_token());
    later = PresentWait();
    EXPECT_FALSE(later->stop().stop_requested());
  }
  person.request_stop();
  EXPECT_FALSE(later->stop().stop_requested()) << "units run now, and finish";
  const Attendance attendance(person.get_token());
  EXPECT_TRUE(PresentWait()->stop().stop_requested());
}

TEST_F(AttendanceTest, ASilentServerIsToldOnceAndThenGivenUpForAllRequests) {
  const Attendance attendance(
      {},
      {.silence = milliseconds(20), .patience = milliseconds(120), .between_words = milliseconds(10'000)});
  const std::shared_ptr<AttendedWait> wait = PresentWait();
  int looks = 0;
  const std::chrono::nanoseconds begun = SystemClock().Monotonic();
  while (const auto next = wait->Silent("http://deaf:80", "http://deaf/x", begun)) {
    ASSERT_LT(++looks, 100);
    std::this_thread::sleep_for(*next);
  }
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("http://deaf/x: no answer for "), std::string::npos) << told_[0];
  EXPECT_FALSE(wait->Silent("http://deaf:80", "http://deaf/y", SystemClock().Monotonic()))
      << "another request waits no longer";
  EXPECT_TRUE(wait->Silent("http://well:80", "http://well/", SystemClock().Monotonic()));
  wait->Answers("http://deaf:80");
  EXPECT_TRUE(wait->Silent("http://deaf:80", "http://deaf/z", SystemClock().Monotonic()));
}

TEST_F(AttendanceTest, AttemptsThatFailSoonAreNoSilence) {
  const Attendance attendance({}, {.silence = milliseconds(500)});
  const std::shared_ptr<AttendedWait> wait = PresentWait();
  std::chrono::nanoseconds begun = SystemClock().Monotonic() - milliseconds(400);
  for (int attempt = 0; attempt < 3; ++attempt, begun += milliseconds(300)) {
    EXPECT_TRUE(wait->Silent("http://closed:80", "http://closed/", begun));
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_TRUE(told_.empty());
}

TEST_F(AttendanceTest, EitherOfTwoTokensStops) {
  std::stop_source one, other;
  const EitherStop first(one.get_token(), other.get_token());
  const EitherStop second(one.get_token(), {});
  other.request_stop();
  EXPECT_TRUE(first.token().stop_requested());
  EXPECT_FALSE(second.token().stop_requested());
  one.request_stop();
  EXPECT_TRUE(second.token().stop_requested());
}

}  // namespace
}  // namespace pipeline
