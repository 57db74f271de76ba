#include "plugins/train/hosts/slice_loop.h"

#include <gtest/gtest.h>

#include "tests/plugins/train/hosts/scripted_loop.h"

namespace pipeline {
namespace {

class LeadingLoopTest : public ScriptedLoopTest {};

TEST_F(LeadingLoopTest, AHostThatIsLostAfterThePublicationBeganCostsNoAttempt) {
  BeginAttempt();
  EndAll(0);
  Pass(10);
  EXPECT_EQ(trainer.publications, 0) << "the last checkpoint is not whole";
  trainer.may_publish = true;
  Pass(5);
  EXPECT_GT(trainer.publications, 0);
  books.alive = {1};
  Pass(300);
  EXPECT_EQ(trainer.started.size(), 1u);
  EXPECT_TRUE(books.ends.empty());
  trainer.published = TrainingEnd{};
  Pass(30);
  ASSERT_TRUE(over);
  EXPECT_EQ(over->outcome, TrainingOutcome::kDone);
}

TEST_F(LeadingLoopTest, AHostThatIsLostBeforeThatBeginsTheNextAttempt) {
  BeginAttempt();
  EndAll(0);
  Pass(10);
  books.alive = {1};
  Pass(60);
  EXPECT_TRUE(books.ends.contains(1)) << said;
  trainer.may_publish = true;
  Pass(60);
  EXPECT_EQ(trainer.publications, 0) << "host 2 has not trained to the end again";
}

TEST_F(LeadingLoopTest, ALastCheckpointThatIsNeverWholeEndsTheRun) {
  BeginAttempt();
  EndAll(0);
  Pass(1790);
  EXPECT_FALSE(over);
  Pass(60);
  ASSERT_TRUE(over) << "it would wait for ever";
  EXPECT_EQ(over->code, Code::kUnavailable);
  EXPECT_NE(over->message.find("the last checkpoint is not whole after 30 min"), std::string::npos)
      << over->message;
}

TEST_F(LeadingLoopTest, AStopOfAnotherHostReachesTrainersThatDoNotTellEachOther) {
  BeginAttempt();
  books.cards[2].leaves = true;
  Pass(5);
  EXPECT_EQ(trainer.stops, 0) << "a trainer that tells the others is not asked twice";
  EXPECT_EQ(books.written.stop, 0);
  trainer.stops_together = false;
  Pass(5);
  EXPECT_GT(trainer.stops, 0);
  EXPECT_EQ(books.written.stop, trainer.started.back()) << "host 1 would not save";
  EXPECT_FALSE(books.ends.contains(1)) << "they have time to save";
}

TEST_F(LeadingLoopTest, AnEarlierStartThatWasStoppedStopsNobody) {
  trainer.stops_together = false;
  BeginAttempt();
  books.cards[2].nonce = "earlier";
  books.cards[2].leaves = true;
  Pass(2);
  EXPECT_EQ(trainer.stops, 0);
}

TEST_F(LeadingLoopTest, AStopEndsALeaderThatReachesNothing) {
  BeginAttempt();
  errands.stuck = ErrandKind::kSign;
  Pass(60);
  EXPECT_GT(trainer.kills, 0) << "the others give it up";
  trainer.end = TrainerEnd{};
  stopped = true;
  Pass(90);
  ASSERT_TRUE(over) << "it would wait for ever";
  EXPECT_EQ(over->outcome, TrainingOutcome::kStopped);
}

TEST_F(LeadingLoopTest, AStopIsToldAtOnceAndTheTrainersEndByThemselves) {
  BeginAttempt();
  stopped = true;
  Pass(2);
  EXPECT_EQ(trainer.stops, 1);
  EXPECT_TRUE(books.written.leaves);
  Pass(40);
  EXPECT_EQ(trainer.kills, 0) << "they save";
  EndAll(42);
  Pass(10);
  ASSERT_TRUE(over);
  EXPECT_EQ(over->outcome, TrainingOutcome::kStopped);
  EXPECT_EQ(trainer.kills, 0);
  ASSERT_TRUE(books.written.over) << "the others end as stopped, too";
  EXPECT_EQ(books.written.over->outcome, TrainingOutcome::kStopped);
}

TEST_F(LeadingLoopTest, AnEndThatCannotBeWrittenIsWrittenLater) {
  BeginAttempt();
  books.failing_ends = 3;
  books.cards[2].nonce = "again";
  Pass(10);
  EXPECT_EQ(trainer.kills, 1);
  EXPECT_TRUE(books.ends.contains(1)) << "the trainer of host 1 would run on";
  EXPECT_TRUE(Said("the end of the attempt cannot be written: no answer"));
}

TEST_F(LeadingLoopTest, ThousandsOfAttemptsAreNotReadOneByOne) {
  for (const std::int64_t before : {0, 1, 2, 3, 7, 4711}) {
    AttemptRecord old;
    old.nonces = {"a", "b", "c"};
    for (old.number = 1; old.number <= before; ++old.number) books.attempts[old.number] = old;
    loop = std::make_unique<SliceLoop>(
        CardOf(0, 0), HostTiming{}, books, trainer, errands, [](std::string_view) {}, now);
    trainer.started.clear();
    books.cards.clear();
    books.attempt_reads = 0;
    BeginAttempt();
    EXPECT_EQ(trainer.started, std::vector<std::int64_t>{before + 1});
    EXPECT_LT(books.attempt_reads, 100) << "of " << before;
    books.attempts.clear();
  }
}

TEST_F(LeadingLoopTest, ADamagedAttemptIsNobodysAndTheNextOneBegins) {
  books.damaged = {1, 2};
  BeginAttempt();
  EXPECT_EQ(trainer.started, std::vector<std::int64_t>{3}) << "it would wait for ever";
}

/// Host 1, which trains in attempt 1.
class FollowingLoopTest : public ScriptedLoopTest {
 protected:
  FollowingLoopTest() : ScriptedLoopTest(1) {
    books.cards[0] = CardOf(0, 0);
    books.alive = {0};
    AttemptRecord attempt;
    attempt.number = 1;
    attempt.nonces = {"n0", "n1", "n2"};
    books.attempts[1] = attempt;
    Pass(10);
    EXPECT_EQ(trainer.started, std::vector<std::int64_t>{1});
  }
  void StopAndSave() {
    stopped = true;
    Pass(3);
    EXPECT_EQ(trainer.stops, 1);
    EXPECT_TRUE(books.written.leaves);
    trainer.local = {{.step = 700, .attempt = 1, .part = "91e70ef655664d61"}};
    trainer.end = TrainerEnd{.attempt = 1, .code = 42, .cause = "stopped"};
  }
};

TEST_F(FollowingLoopTest, AStoppedHostTellsItsEndAndItsCheckpointBeforeItGoes) {
  StopAndSave();
  Pass(5);
  ASSERT_TRUE(over);
  EXPECT_EQ(over->outcome, TrainingOutcome::kStopped);
  ASSERT_TRUE(books.written.ended) << "the leader would wait for its end";
  EXPECT_EQ(books.written.ended->code, 42);
  EXPECT_EQ(books.written.local, trainer.local) << "the leader would never mark it";
}

TEST_F(FollowingLoopTest, AStoppedHostThatReachesNothingGoesAllTheSame) {
  StopAndSave();
  errands.stuck = ErrandKind::kSign;
  Pass(15);
  ASSERT_TRUE(over);
  EXPECT_EQ(over->outcome, TrainingOutcome::kStopped);
}

TEST_F(FollowingLoopTest, TheLeaderPassesOnAStopAndTellsWhetherItsTrainerRuns) {
  EXPECT_FALSE(trainer.leader_trains);
  books.cards[0].trains = 1;
  Pass(5);
  EXPECT_TRUE(trainer.leader_trains);
  books.cards[0].stop = 1;
  Pass(5);
  EXPECT_EQ(trainer.stops, 0) << "its trainer learns of it from the others";
  trainer.stops_together = false;
  Pass(5);
  EXPECT_GT(trainer.stops, 0);
  EXPECT_FALSE(books.written.leaves) << "this host was not stopped";
  books.cards[0].trains = 0;
  Pass(5);
  EXPECT_FALSE(trainer.leader_trains);
}

}  // namespace
}  // namespace pipeline
