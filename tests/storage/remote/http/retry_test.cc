#include "storage/remote/http/retry.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/attendance.h"
#include "base/log.h"
#include "tests/support/counted_pause.h"

namespace pipeline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RetryTest : public testing::Test {
 protected:
  /// The status that ended it.
  Status UntilItIsGivenUp(Retry& retry, std::optional<milliseconds> asked = {}) {
    for (;;) {
      Status again = retry.Again(Status(Code::kUnavailable, "it broke"), asked, {});
      if (!again.ok()) return again;
    }
  }

  FakeClock clock_;
  CountedPause pause_{&clock_};
  Retry retry_{{}, clock_, pause_, 1};
};

TEST_F(RetryTest, PausesAreDrawnFromARangeThatDoubles) {
  std::vector<milliseconds> longest(8, milliseconds(0)), shortest(8, milliseconds::max());
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CountedPause pause(&clock_);
    Retry retry({}, clock_, pause, seed);
    for (std::size_t i = 0; i < longest.size(); ++i) {
      ASSERT_TRUE(retry.Again(Status(Code::kUnavailable, "x"), {}, {}).ok());
      longest[i] = std::max(longest[i], pause.taken[i]);
      shortest[i] = std::min(shortest[i], pause.taken[i]);
    }
  }
  for (std::size_t i = 0; i < longest.size(); ++i) {
    const milliseconds most = std::min<milliseconds>(seconds(1) * (1 << i), seconds(32));
    EXPECT_LE(longest[i], most);
    EXPECT_GE(longest[i], most * 9 / 10) << "pause " << i;
    EXPECT_LE(shortest[i], most / 10) << "not the full range, pause " << i;
  }
}

TEST_F(RetryTest, TwoSeedsDoNotWaitTheSameTime) {
  std::set<std::vector<milliseconds>> different;
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, JitterSeed(), JitterSeed()}) {
    CountedPause pause(&clock_);
    Retry retry({}, clock_, pause, seed);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(retry.Again(Status(Code::kUnavailable, "x"), {}, {}).ok());
    different.insert(pause.taken);
  }
  EXPECT_EQ(different.size(), 5u);
}

TEST_F(RetryTest, GivesUpWhenBothAttemptsAndPatienceAreAtTheirEnd) {
  const Status given_up = UntilItIsGivenUp(retry_);
  EXPECT_EQ(given_up.code(), Code::kUnavailable);
  EXPECT_GE(pause_.Sum(), seconds(600));
  EXPECT_LT(pause_.Sum(), seconds(633));
  EXPECT_GE(pause_.taken.size(), 12u);
  EXPECT_EQ(given_up.message(), "it broke (tried " + std::to_string(pause_.taken.size() + 1) + " times in " +
                                    std::to_string(pause_.Sum() / seconds(1)) + " s)");
}

TEST_F(RetryTest, AttemptsThatTakeLongAreStillMadeAsOftenAsWasSaid) {
  int failed = 0;
  for (Status again; again.ok(); ++failed) {
    clock_.Advance(seconds(120));  // each of them stalled
    again = retry_.Again(Status(Code::kUnavailable, "stalled"), {}, {});
  }
  EXPECT_EQ(failed, 12);
}

TEST_F(RetryTest, EndsAlsoWhereTheClockStandsStill) {
  CountedPause pause(nullptr);
  Retry retry({}, clock_, pause, 3);
  EXPECT_EQ(UntilItIsGivenUp(retry).code(), Code::kUnavailable);
  EXPECT_GE(pause.Sum(), seconds(600));
}

TEST_F(RetryTest, ProgressBeginsTheCountAnew) {
  const RetryPolicy policy{.attempts = 3, .patience = seconds(0)};
  Retry retry(policy, clock_, pause_, 1);
  const auto again = [&] { return retry.Again(Status(Code::kUnavailable, "x"), {}, {}); };
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(again().ok() && again().ok());
    EXPECT_LE(pause_.taken[pause_.taken.size() - 2], seconds(1)) << "the pause did not become short again";
    retry.Progress();
  }
  EXPECT_TRUE(again().ok() && again().ok());
  EXPECT_EQ(again().code(), Code::kUnavailable);
}

TEST_F(RetryTest, OnlyWhatMayPassIsTriedAgain) {
  for (const Code code : {Code::kNotFound, Code::kDataLoss, Code::kInvalidArgument, Code::kPermissionDenied,
                          Code::kFailedPrecondition, Code::kCancelled}) {
    Retry retry({}, clock_, pause_, 1);
    const Status again = retry.Again(Status(code, "as it was"), {}, {});
    EXPECT_EQ(again.code(), code);
    EXPECT_EQ(again.message(), "as it was");
  }
  EXPECT_TRUE(pause_.taken.empty());
  ASSERT_TRUE(retry_.Again(Status(Code::kUnavailable, "x"), milliseconds(1500), {}).ok());
  EXPECT_EQ(retry_.Again(Status(Code::kNotFound, "gone"), {}, {}).message(), "gone (tried 2 times in 1 s)");
}

TEST_F(RetryTest, WaitsAsLongAsTheServerAsks) {
  ASSERT_TRUE(retry_.Again(Status(Code::kUnavailable, "x"), seconds(90), {}).ok());
  ASSERT_TRUE(retry_.Again(Status(Code::kUnavailable, "x"), milliseconds(0), {}).ok());
  EXPECT_EQ(pause_.taken, (std::vector<milliseconds>{seconds(90), seconds(0)}));
}

TEST_F(RetryTest, ATimeBeyondAllPatienceIsToldNotWaited) {
  const Status again = retry_.Again(Status(Code::kUnavailable, "x"), seconds(4000), {});
  EXPECT_EQ(again.code(), Code::kUnavailable);
  EXPECT_EQ(again.message(), "x; the server asks to be left alone for 4000 s: run again then");
  EXPECT_TRUE(pause_.taken.empty());
}

TEST_F(RetryTest, AStopEndsTheWaiting) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(retry_.Again(Status(Code::kUnavailable, "x"), {}, stop.get_token()).code(), Code::kCancelled);
}

TEST(PauseTest, TheMachinesOwnPauseEndsWhenItIsTold) {
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(SystemPause().For(std::chrono::hours(1), stop.get_token()).code(), Code::kCancelled);
  stopper.join();
  const auto before = SystemClock().Monotonic();
  EXPECT_TRUE(SystemPause().For(milliseconds(5), {}).ok());
  EXPECT_GE(SystemClock().Monotonic() - before, milliseconds(5));
}

/// While a person waits.
class AttendedRetryTest : public RetryTest {
 protected:
  AttendedRetryTest()
      : before_(SetLogSink([this](Level, std::string_view line) { told_.emplace_back(line); })) {}
  ~AttendedRetryTest() override { SetLogSink(std::move(before_)); }

  std::vector<std::string> told_;
  LogSink before_;
  std::stop_source person_;
  std::optional<Attendance> attendance_{std::in_place, person_.get_token()};
};

TEST_F(AttendedRetryTest, IsToldSoonAndGivenUpWithinAMinute) {
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    FakeClock clock;
    CountedPause pause(&clock);
    Retry retry({}, clock, pause, seed);
    told_.clear();
    milliseconds until_told(0);
    for (;;) {
      const Status again = retry.Again(Status(Code::kUnavailable, "gs://b/x: it broke"), {}, {});
      if (told_.empty()) until_told = pause.Sum();
      if (!again.ok()) {
        EXPECT_EQ(again.code(), Code::kUnavailable);
        break;
      }
    }
    EXPECT_LE(pause.Sum(), seconds(60));
    EXPECT_GE(pause.Sum(), seconds(30)) << "a server that restarts is waited for";
    EXPECT_LE(until_told, seconds(5)) << "seed " << seed;
    ASSERT_FALSE(told_.empty());
    EXPECT_NE(told_[0].find("gs://b/x: it broke; next try in "), std::string::npos) << told_[0];
    EXPECT_LE(told_.size(), 13u);
  }
}

TEST_F(AttendedRetryTest, AnAnswerThatStaysTheSameIsNoReasonToAskAgain) {
  const auto same = [](int attempts) {
    return Status(Code::kUnavailable, "no such name").With(std::make_shared<SameAnswer>(attempts));
  };
  EXPECT_EQ(retry_.Again(same(1), {}, {}).code(), Code::kUnavailable);
  EXPECT_TRUE(pause_.taken.empty());
  Retry patient({}, clock_, pause_, 2);
  EXPECT_TRUE(patient.Again(same(3), {}, {}).ok());
  EXPECT_TRUE(patient.Again(same(3), {}, {}).ok());
  EXPECT_FALSE(patient.Again(same(3), {}, {}).ok());
  attendance_.reset();
  Retry run({}, clock_, pause_, 3);
  EXPECT_TRUE(run.Again(same(1), {}, {}).ok()) << "a run has the patience of before";
}

TEST_F(AttendedRetryTest, EndsWithThePerson) {
  person_.request_stop();
  EXPECT_EQ(retry_.Again(Status(Code::kUnavailable, "it broke"), {}, {}).code(), Code::kCancelled);
}

TEST_F(AttendedRetryTest, APauseThatAServerAsksForIsNotLongerThanThePatience) {
  EXPECT_TRUE(retry_.Again(Status(Code::kUnavailable, "busy"), seconds(20), {}).ok());
  const Status long_one = retry_.Again(Status(Code::kUnavailable, "busy"), seconds(50), {});
  EXPECT_EQ(long_one.code(), Code::kUnavailable);
  EXPECT_NE(long_one.message().find("left alone for 50 s"), std::string_view::npos) << long_one.message();
}

}  // namespace
}  // namespace pipeline
