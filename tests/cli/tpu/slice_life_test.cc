#include "cli/tpu/slice_life.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

using std::chrono::seconds;
using Act = SliceAct::Kind;

constexpr seconds kWait{600};

SliceLife NewLife() { return SliceLife(SliceTimes(), kWait); }

TEST(SliceLifeTest, AMachineIsAskedForUntilARequestIsAnswered) {
  SliceLife life = NewLife();
  EXPECT_EQ(life.Seen(seconds(0), SliceState::kAbsent).kind, Act::kAsk);
  life.Asked(seconds(1), false);
  EXPECT_EQ(life.Seen(seconds(16), SliceState::kAbsent).kind, Act::kAsk);
  life.Asked(seconds(17), true);
  EXPECT_EQ(life.Seen(seconds(32), SliceState::kAbsent).kind, Act::kLook);
  EXPECT_EQ(life.Seen(seconds(47), SliceState::kComing).kind, Act::kLook);
  EXPECT_EQ(life.Seen(seconds(62), SliceState::kReady).kind, Act::kReady);
}

TEST(SliceLifeTest, EachWaitHasAnEnd) {
  SliceLife waiting = NewLife();
  EXPECT_EQ(waiting.Seen(seconds(0), SliceState::kQueued).kind, Act::kLook);
  EXPECT_EQ(waiting.Seen(kWait, SliceState::kQueued).kind, Act::kLook);
  const SliceAct late = waiting.Seen(kWait + seconds(1), SliceState::kQueued);
  EXPECT_EQ(late.kind, Act::kRelease);
  EXPECT_EQ(late.reason, kNoCapacity);

  SliceLife coming = NewLife();
  EXPECT_EQ(coming.Seen(seconds(0), SliceState::kComing).kind, Act::kLook);
  EXPECT_EQ(coming.Seen(seconds(1801), SliceState::kComing).reason, kLateSlice);

  SliceLife never = NewLife();
  never.Asked(seconds(0), true);
  EXPECT_EQ(never.Seen(seconds(0), SliceState::kAbsent).kind, Act::kLook);
  EXPECT_EQ(never.Seen(seconds(30), SliceState::kAbsent).reason, kLostSlice);

  SliceLife stuck = NewLife();
  stuck.Release(seconds(0), kDownSlice);
  EXPECT_EQ(stuck.Seen(seconds(1800), SliceState::kReady).kind, Act::kRelease);
  EXPECT_EQ(stuck.Seen(seconds(1801), SliceState::kLeaving).kind, Act::kGiveUp);
}

TEST(SliceLifeTest, GoneIsSeenTwiceAndALateRequestIsWaitedFor) {
  SliceLife life = NewLife();
  life.Asked(seconds(0), true);
  EXPECT_EQ(life.Seen(seconds(1), SliceState::kLost).kind, Act::kRelease);
  EXPECT_EQ(life.Seen(seconds(2), SliceState::kLeaving).kind, Act::kLook);
  EXPECT_EQ(life.Seen(seconds(3), SliceState::kAbsent).kind, Act::kLook);
  EXPECT_EQ(life.Seen(seconds(20), SliceState::kLeaving).kind, Act::kLook);  // a look that lied
  EXPECT_EQ(life.Seen(seconds(40), SliceState::kAbsent).kind, Act::kLook);
  EXPECT_EQ(life.Seen(seconds(70), SliceState::kAbsent).kind, Act::kGone);

  SliceLife unanswered = NewLife();
  unanswered.Asked(seconds(0), false);
  unanswered.Release(seconds(1), kDownSlice);
  EXPECT_EQ(unanswered.Seen(seconds(1), SliceState::kAbsent).kind, Act::kLook);
  EXPECT_EQ(unanswered.Seen(seconds(119), SliceState::kAbsent).kind, Act::kLook);
  EXPECT_EQ(unanswered.Seen(seconds(119), SliceState::kComing).kind, Act::kRelease);  // it came after all
}

TEST(SliceLifeTest, TheFirstReasonOfAnEndStays) {
  SliceLife life = NewLife();
  life.Release(seconds(0), kRefusedSlice);
  life.Release(seconds(1), kDownSlice);
  EXPECT_EQ(life.Seen(seconds(2), SliceState::kLost).reason, kRefusedSlice);
}

TEST(SliceLifeTest, PausesGrowToHalfAnHour) {
  EXPECT_EQ(RoundPause(1), seconds(60));
  EXPECT_EQ(RoundPause(2), seconds(120));
  EXPECT_EQ(RoundPause(5), seconds(960));
  EXPECT_EQ(RoundPause(6), seconds(1800));
  EXPECT_EQ(RoundPause(1'000'000), seconds(1800));
}

}  // namespace
}  // namespace pipeline
