#include "plugins/train/watchdog.h"

#include <gtest/gtest.h>

#include "base/str.h"

namespace pipeline {
namespace {

using namespace std::chrono_literals;

Json Event(std::string_view kind, std::int64_t step = -1) {
  Json event;
  event["v"] = 1;
  event["kind"] = kind;
  if (step >= 0) event["step"] = step;
  return event;
}

Json Phase(std::string_view name) {
  Json event = Event("phase");
  event["name"] = name;
  return event;
}

/// A heartbeat every ten seconds from `from` to `to`.
void Beat(Watchdog& dog, std::chrono::seconds from, std::chrono::seconds to, std::int64_t step = -1) {
  for (auto at = from; at <= to; at += 10s) dog.Hear(Event("hb", step), at);
}

TEST(WatchdogTest, StartMayTakeTenMinutesOfSilence) {
  const Watchdog dog(1, 0s);
  EXPECT_FALSE(dog.Hangs(600s));
  EXPECT_EQ(dog.Hangs(601s), "was in phase 'init' for 601 s");
}

TEST(WatchdogTest, SilenceAfterTheFirstWordIsHanging) {
  Watchdog dog(1, 0s);
  dog.Hear(Event("hello"), 100s);
  EXPECT_FALSE(dog.Hangs(160s));
  EXPECT_EQ(dog.Hangs(161s), "said nothing for 61 s in phase 'init'");
}

class WatchdogPhaseTest : public testing::TestWithParam<const char*> {};

TEST_P(WatchdogPhaseTest, HasHalfAnHourEachTime) {
  Watchdog dog(1, 0s);
  for (const auto begin : {0s, 4000s}) {
    dog.Hear(Phase(GetParam()), begin);
    Beat(dog, begin, begin + 1800s);
    EXPECT_FALSE(dog.Hangs(begin + 1800s));
    dog.Hear(Event("hb"), begin + 1801s);
    EXPECT_EQ(dog.Hangs(begin + 1801s), StrCat("was in phase '", GetParam(), "' for 1801 s"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, WatchdogPhaseTest,
                         testing::Values("compile", "eval", "checkpoint", "export", "done", "another"));

TEST(WatchdogTest, WaitingForAnotherProgramMayTakeForEver) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("wait"), 5s);
  Beat(dog, 5s, 100'005s);
  EXPECT_FALSE(dog.Hangs(100'005s));
  EXPECT_EQ(dog.Hangs(100'066s), "said nothing for 61 s in phase 'wait'");
  dog.Hear(Phase("init"), 100'010s);
  Beat(dog, 100'010s, 100'610s);
  EXPECT_FALSE(dog.Hangs(100'610s)) << "what begins then has its whole time";
  dog.Hear(Event("hb"), 100'611s);
  EXPECT_EQ(dog.Hangs(100'611s), "was in phase 'init' for 601 s");
}

TEST(WatchdogTest, HeartbeatsDoNotHideAStepThatNeverEnds) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("step"), 0s);
  for (int step = 0; step < 10; ++step) dog.Hear(Event("step", step), std::chrono::seconds(step));
  Beat(dog, 10s, 129s, 9);
  EXPECT_FALSE(dog.Hangs(129s));
  dog.Hear(Event("hb", 9), 130s);
  EXPECT_EQ(dog.Hangs(130s), "stayed at step 9 for 121 s");
}

TEST(WatchdogTest, AStepThatWaitsForAnotherHostIsNoHanging) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("step"), 0s);
  for (auto at = 0s; at <= 7200s; at += 10s) {
    dog.Hear(Event("hb", 3), at);
    dog.Excuse(at);
    EXPECT_FALSE(dog.Hangs(at));
  }
  Beat(dog, 7210s, 7800s, 3);
  EXPECT_FALSE(dog.Hangs(7800s));
  dog.Hear(Event("hb", 3), 7810s);
  EXPECT_TRUE(dog.Hangs(7810s)) << "nobody is waited for any more";
}

TEST(WatchdogTest, SlowStepsGetTwentyTimesTheirMedian) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("step"), 0s);
  for (int step = 0; step < 10; ++step) dog.Hear(Event("step", step), step * 30s);
  Beat(dog, 270s, 870s, 9);
  EXPECT_FALSE(dog.Hangs(870s));
  dog.Hear(Event("hb", 9), 871s);
  EXPECT_TRUE(dog.Hangs(871s));
}

TEST(WatchdogTest, FirstStepsGetTenMinutes) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("step"), 0s);
  Beat(dog, 0s, 600s, 0);
  EXPECT_FALSE(dog.Hangs(600s));
  dog.Hear(Event("hb", 0), 601s);
  EXPECT_TRUE(dog.Hangs(601s));
}

TEST(WatchdogTest, EvaluationBetweenStepsIsNoStep) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("step"), 0s);
  for (int step = 0; step < 10; ++step) dog.Hear(Event("step", step), std::chrono::seconds(step));
  dog.Hear(Phase("eval"), 10s);
  Beat(dog, 10s, 1010s, 9);
  EXPECT_FALSE(dog.Hangs(1010s));
  dog.Hear(Phase("step"), 1010s);
  Beat(dog, 1010s, 1120s, 9);
  EXPECT_FALSE(dog.Hangs(1120s));
}

TEST(WatchdogTest, RewindIsMovement) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("step"), 0s);
  for (int step = 0; step < 10; ++step) dog.Hear(Event("step", step), std::chrono::seconds(step));
  Beat(dog, 10s, 110s, 5);
  EXPECT_FALSE(dog.Hangs(125s));
}

TEST(WatchdogTest, PatienceScalesEveryLimit) {
  Watchdog dog(0.001, 0s);
  EXPECT_FALSE(dog.Hangs(600ms));
  EXPECT_TRUE(dog.Hangs(601ms));
  dog.Hear(Event("hello"), 600ms);
  EXPECT_TRUE(dog.Hangs(661ms));
}

/// Heartbeats come every ten seconds.
TEST(WatchdogTest, MeasuresAStepAndASave) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("compile"), 5s);
  EXPECT_EQ(dog.StepTime(500s), 0s) << "nothing can be saved yet";
  dog.Hear(Phase("step"), 500s);
  dog.Hear(Event("hb", 0), 500s);
  EXPECT_EQ(dog.StepTime(540s), 40s) << "the first one takes so long already";
  dog.Hear(Event("hb", 1), 560s);
  EXPECT_EQ(dog.StepTime(570s), 60s);
  for (int step = 2; step < 6; ++step) dog.Hear(Event("hb", step), 440s + step * 60s);
  EXPECT_EQ(dog.StepTime(10'000s), 60s) << "one that hangs is no measure";
  EXPECT_FALSE(dog.save_time());
  dog.Hear(Event("ckpt_begin", 5), 10'000s);
  EXPECT_FALSE(dog.save_time());
  dog.Hear(Event("ckpt_commit", 5), 10'007s);
  EXPECT_EQ(dog.save_time(), 7s);
  EXPECT_EQ(dog.Grace(10'010s), 127s) << "two steps and a save";
}

TEST(WatchdogTest, GraceIsHalfAMinuteAtLeastAndAsMuchForASaveThatWasNeverMeasured) {
  Watchdog dog(1, 0s);
  EXPECT_EQ(dog.Grace(100s), 30s);
  dog.Hear(Phase("step"), 100s);
  for (int step = 1; step < 9; ++step) dog.Hear(Event("hb", step), 100s + step * 2s);
  EXPECT_EQ(dog.Grace(120s), 34s);
  dog.Hear(Event("ckpt_begin", 8), 120s);
  dog.Hear(Event("ckpt_commit", 8), 121s);
  EXPECT_EQ(dog.Grace(122s), 30s);
}

TEST(WatchdogTest, ManyStepsBetweenTwoHeartbeatsAreSoMany) {
  Watchdog dog(1, 0s);
  dog.Hear(Phase("step"), 0s);
  for (int beat = 1; beat < 5; ++beat) dog.Hear(Event("hb", 100 * beat), beat * 10s);
  EXPECT_EQ(dog.StepTime(50s), 100ms);
}

TEST(WatchdogTest, SilenceBeginsWhenTheOtherHostIsNoExcuseAnyMore) {
  Watchdog dog = Watchdog::ForSilence(10s, 0s);
  for (std::chrono::seconds at = 0s; at < 100s; at += 5s) {
    dog.Excuse(at);
    EXPECT_FALSE(dog.Hangs(at));
  }
  EXPECT_FALSE(dog.Hangs(105s));
  EXPECT_TRUE(dog.Hangs(106s));
}

}  // namespace
}  // namespace pipeline
