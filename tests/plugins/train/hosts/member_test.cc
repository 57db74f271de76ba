#include "plugins/train/hosts/member.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

using Time = HostTiming::Time;
using namespace std::chrono_literals;

HostCard NoncedCard(int host, std::string nonce, std::int64_t sign = 0) {
  HostCard card;
  card.host = host;
  card.hosts = 2;
  card.nonce = std::move(nonce);
  card.sign = sign;
  return card;
}

AttemptRecord Attempt(std::int64_t number, std::string leader = "L", std::string other = "M") {
  AttemptRecord record;
  record.number = number;
  record.nonces = {std::move(leader), std::move(other)};
  return record;
}

/// Host 1 of 2, which renews its card and reads that of the leader every five seconds.
class MemberTest : public testing::Test {
 protected:
  /// Both live for so long.
  void Live(Time time) { Pass(time, true, true); }
  void Pass(Time time, bool renews, bool leader_lives) {
    for (const Time until = now + time; now < until;) {
      now += 5s;
      if (renews) member.Renewed(now);
      if (leader_lives) ++leader.sign;
      member.SawLeader(leader, now);
    }
  }
  /// A trainer that runs for attempt 7.
  void Train() {
    Live(10s);
    member.SawAttempt(Attempt(7), false);
    ASSERT_EQ(member.Next(now).kind, MemberStep::Kind::kStart);
    member.Started();
    ASSERT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  }
  void ExpectKilled(std::string_view why) {
    const MemberStep step = member.Next(now);
    EXPECT_EQ(step.kind, MemberStep::Kind::kKill);
    EXPECT_NE(step.why.find(why), std::string::npos) << step.why;
  }

  Time now = 0s;
  HostCard leader = NoncedCard(0, "L");
  Member member{NoncedCard(1, "M"), HostTiming{}, 0s};
};

TEST_F(MemberTest, StartsOnlyInTheNewestAttemptWithItsOwnNonce) {
  Live(10s);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  member.SawAttempt(Attempt(7, "L", "another start"), false);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  member.SawAttempt(Attempt(7), true);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing) << "it has ended";
  member.SawAttempt(Attempt(7, "an earlier leader"), false);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  member.SawAttempt(Attempt(7), false);
  const MemberStep step = member.Next(now);
  EXPECT_EQ(step.kind, MemberStep::Kind::kStart);
  EXPECT_EQ(step.attempt.number, 7);
}

TEST_F(MemberTest, StartsNothingWithoutALivingLeaderOrASignOfItsOwn) {
  member.SawAttempt(Attempt(7), false);
  member.SawLeader(leader, now);  // perhaps of a dead leader
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  Live(10s);
  Pass(35s, false, true);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing) << "the others may have given it up";
  EXPECT_FALSE(member.MayWrite(now));
  Live(5s);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kStart);
}

TEST_F(MemberTest, StartsOnceInAnAttempt) {
  Train();
  member.Ended({.attempt = 0,
                .code = 75,
                .signal = 0,
                .hung = false,
                .progressed = false,
                .lost = false,
                .cause = "gone"});
  EXPECT_EQ(member.card().ended->attempt, 7);
  EXPECT_EQ(member.card().trains, 0);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  member.SawAttempt(Attempt(8), false);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kStart);
  member.Started();
  EXPECT_FALSE(member.card().ended);
}

TEST_F(MemberTest, ASignThatCannotBeRenewedKillsTheTrainerBeforeTheOthersGiveUp) {
  Train();
  Pass(30s, false, true);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  Pass(5s, false, true);
  EXPECT_LT(35s, HostTiming{}.given_up);
  ExpectKilled("could not renew");
}

TEST_F(MemberTest, AFrozenHostKillsItsTrainerAtOnceWhenItThaws) {
  Train();
  now += 600s;
  ExpectKilled("could not renew");
}

TEST_F(MemberTest, AnEndOrANewerAttemptKillsTheTrainer) {
  Train();
  member.SawAttempt(Attempt(7), true);
  ExpectKilled("ended attempt 7");
  member.SawAttempt(Attempt(8), false);
  ExpectKilled("not the newest");
}

TEST_F(MemberTest, ALostLeaderKillsTheTrainer) {
  Train();
  Pass(40s, true, false);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  Pass(5s, true, false);
  ExpectKilled("host 0 gave no sign");
}

TEST_F(MemberTest, ALeaderThatWasStartedAgainKillsTheTrainer) {
  Train();
  leader.nonce = "L2";
  Live(5s);
  ExpectKilled("host 0 was started again");
}

TEST_F(MemberTest, TheEndOfTheRunKillsTheTrainerThatStillRuns) {
  Train();
  leader.over = TrainingEnd{.outcome = TrainingOutcome::kFailed, .code = Code::kInternal, .message = "a bug"};
  Live(5s);
  ExpectKilled("host 0 ended the run");
  member.Ended({});
  EXPECT_EQ(member.Next(now).end.message, "a bug");
}

TEST_F(MemberTest, ASupersededStartKillsItsTrainerAndEnds) {
  Train();
  member.Superseded();
  ExpectKilled("started again elsewhere");
  EXPECT_FALSE(member.MayWrite(now));
  member.Ended({});
  const MemberStep step = member.Next(now);
  EXPECT_EQ(step.kind, MemberStep::Kind::kFinish);
  EXPECT_EQ(step.end.outcome, TrainingOutcome::kFailed);
}

TEST_F(MemberTest, EndsAsTheLeaderDid) {
  Live(10s);
  leader.over =
      TrainingEnd{.outcome = TrainingOutcome::kFailed, .code = Code::kDataLoss, .message = "rows differ"};
  Live(5s);
  const MemberStep step = member.Next(now);
  EXPECT_EQ(step.kind, MemberStep::Kind::kFinish);
  EXPECT_EQ(step.end, *leader.over);
}

TEST_F(MemberTest, TheEndOfAnEarlierRunIsNotItsOwn) {
  leader.over = TrainingEnd{};
  Pass(600s, true, false);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  leader = NoncedCard(0, "L2", 1);  // today's leader
  Live(5s);
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
}

TEST_F(MemberTest, NoLeaderForHalfAnHourEndsTheRun) {
  Pass(1805s, true, false);  // five seconds until the card of a dead leader is read
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing);
  Pass(5s, true, false);
  const MemberStep step = member.Next(now);
  EXPECT_EQ(step.kind, MemberStep::Kind::kFinish);
  EXPECT_EQ(step.end.code, Code::kUnavailable);
  EXPECT_NE(step.end.message.find("host 0"), std::string::npos);
}

TEST_F(MemberTest, AStopEndsItWhenItsTrainerHasEnded) {
  Train();
  member.AskedToStop();
  EXPECT_EQ(member.Next(now).kind, MemberStep::Kind::kNothing) << "the trainers save together first";
  member.Ended({.attempt = 0,
                .code = 42,
                .signal = 0,
                .hung = false,
                .progressed = true,
                .lost = false,
                .cause = "stopped"});
  const MemberStep step = member.Next(now);
  EXPECT_EQ(step.kind, MemberStep::Kind::kFinish);
  EXPECT_EQ(step.end.outcome, TrainingOutcome::kStopped);
  EXPECT_TRUE(member.card().leaves);
}

TEST(LeadingMemberTest, StartsNothingAfterAStop) {
  Member leader(NoncedCard(0, "L"), HostTiming{}, 0s);
  leader.Renewed(5s);
  leader.AskedToStop();
  leader.SawAttempt(Attempt(1), false);
  EXPECT_EQ(leader.Next(6s).kind, MemberStep::Kind::kNothing);
}

TEST(LeadingMemberTest, NeedsNoOtherLeader) {
  Member leader(NoncedCard(0, "L"), HostTiming{}, 0s);
  leader.Renewed(5s);
  leader.SawAttempt(Attempt(1), false);
  EXPECT_EQ(leader.Next(6s).kind, MemberStep::Kind::kStart);
  leader.Started();
  leader.AskedToStop();
  leader.Renewed(3600s);
  EXPECT_EQ(leader.Next(3601s).kind, MemberStep::Kind::kNothing);
  EXPECT_EQ(leader.Next(3631s).kind, MemberStep::Kind::kKill);
  leader.Ended({});
  EXPECT_EQ(leader.Next(3632s).kind, MemberStep::Kind::kNothing) << "the others are told first";
}

}  // namespace
}  // namespace pipeline
