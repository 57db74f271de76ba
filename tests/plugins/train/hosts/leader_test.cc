#include "plugins/train/hosts/leader.h"

#include <gtest/gtest.h>

#include <optional>

namespace pipeline {
namespace {

using Time = HostTiming::Time;
using namespace std::chrono_literals;

TrainerEnd Ended(std::int64_t attempt, int code, std::string cause = "it ended") {
  return {.attempt = attempt,
          .code = code,
          .signal = 0,
          .hung = false,
          .progressed = false,
          .lost = false,
          .cause = std::move(cause)};
}

/// The leader of three hosts; each time step reads the cards of the two others.
class LeaderTest : public testing::Test {
 protected:
  LeaderTest() {
    for (int host = 0; host < 3; ++host) {
      HostCard card;
      card.host = host;
      card.hosts = 3;
      card.nonce = "n" + std::to_string(host);
      card.address = "10.0.0." + std::to_string(host + 1);
      card.digests = {{"environment", "e"}, {"program", "p"}};
      cards.push_back(card);
    }
    leader.SawNewest(4);
    leader.Marked(-1);
  }
  /// The hosts of `alive` live for so long.
  void Pass(Time time, std::vector<int> alive = {1, 2}) {
    for (const Time until = now + time; now < until;) {
      now += 5s;
      for (const int host : alive) ++cards[static_cast<std::size_t>(host)].sign;
      Read();
    }
  }
  LeaderStep Next() { return leader.Next(cards[0], now); }
  /// Begins an attempt whose trainers run.
  void Begin() {
    const LeaderStep step = Next();
    ASSERT_EQ(step.kind, LeaderStep::Kind::kBegin);
    leader.Begun(step.attempt, now);
    for (HostCard& card : cards) card.trains = step.attempt.number, card.ended.reset();
    Read();
    ASSERT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  }
  void End(int host, int code, std::string cause = "it ended") {
    HostCard& card = cards[static_cast<std::size_t>(host)];
    card.ended = Ended(card.trains, code, std::move(cause));
    card.trains = 0;
  }
  void EndAll(int code) {
    for (int host = 0; host < 3; ++host) End(host, code);
  }
  /// One attempt that loses host 2, and its end.
  void Lose() {
    Begin();
    cards[2].nonce += "'";
    Pass(5s);
    const LeaderStep step = Next();
    ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd);
    ASSERT_EQ(step.end.lost, std::vector<int>{2});
    EndAll(75);
    Read();
    leader.Closed(now, 0s);
  }
  void Read() {
    for (int host = 1; host < 3; ++host) leader.Saw(host, cards[static_cast<std::size_t>(host)], now);
  }

  Time now = 0s;
  std::vector<HostCard> cards;
  Leader leader{3, HostTiming{}, 0s};
};

TEST_F(LeaderTest, NoAttemptBeginsBeforeTheMarkersAreKnown) {
  Leader unknowing(3, HostTiming{}, now);
  for (int look = 0; look < 4; ++look) {
    now += 5s;
    for (const int host : {1, 2}) {
      HostCard& card = cards[static_cast<std::size_t>(host)];
      ++card.sign;
      unknowing.Saw(host, card, now);
    }
    EXPECT_EQ(unknowing.Next(cards[0], now).kind, LeaderStep::Kind::kNothing) << "it would begin anew";
  }
  unknowing.Marked(700);
  EXPECT_EQ(unknowing.Next(cards[0], now).kind, LeaderStep::Kind::kBegin);
  EXPECT_EQ(unknowing.Next(cards[0], now).attempt.step, 700);
}

TEST_F(LeaderTest, BeginsWhenAllHostsLive) {
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  Pass(10s, {1});
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  EXPECT_EQ(leader.Missing(now), "host 2 (10.0.0.3)");
  Pass(5s);
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kBegin);
  EXPECT_EQ(step.attempt.number, 5);
  EXPECT_EQ(step.attempt.nonces, (std::vector<std::string>{"n0", "n1", "n2"}));
  EXPECT_EQ(step.attempt.step, -1);
  EXPECT_FALSE(step.attempt.local);
}

TEST_F(LeaderTest, CardsOfDeadHostsBeginNothing) {
  Pass(600s, {});
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  EXPECT_EQ(leader.Missing(now), "host 1 (10.0.0.2), host 2 (10.0.0.3)");
}

TEST_F(LeaderTest, WaitsForATrainerThatStillRuns) {
  cards[1].trains = 4;
  Pass(10s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  cards[1].trains = 0;
  cards[0].trains = 4;
  Pass(5s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  cards[0].trains = 0;
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kBegin);
}

TEST_F(LeaderTest, ATrainerThatNeverEndsIsNamedAndEndsTheRun) {
  cards[1].trains = 4;
  Pass(1800s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  EXPECT_EQ(leader.StillTrain(cards[0]), "host 1 (10.0.0.2) (attempt 4)");
  Pass(5s);
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kFail);
  EXPECT_EQ(step.over.code, Code::kUnavailable);
  EXPECT_NE(step.over.message.find("for 30 min on host 1 (10.0.0.2) (attempt 4)"), std::string::npos)
      << step.over.message;
}

TEST_F(LeaderTest, AHostThatLeavesIsNotWaitedForInVain) {
  cards[1].leaves = true;
  Pass(10s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
}

TEST_F(LeaderTest, AnotherProgramOrNumberOfHostsIsRefusedByName) {
  cards[2].digests["program"] = "q";
  Pass(10s);
  LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kFail);
  EXPECT_EQ(step.over.code, Code::kInvalidArgument);
  EXPECT_NE(step.over.message.find("host 2 (10.0.0.3) has another program"), std::string::npos)
      << step.over.message;
  cards[2].digests["program"] = "p";
  cards[1].digests.erase("environment");
  Pass(5s);
  EXPECT_NE(Next().over.message.find("host 1 (10.0.0.2) has another environment"), std::string::npos);
  cards[1].digests["environment"] = "e";
  cards[1].hosts = 8;
  Pass(5s);
  EXPECT_NE(Next().over.message.find("8 hosts"), std::string::npos);
}

TEST_F(LeaderTest, AfterHalfAnHourTheMissingHostsAreNamed) {
  Pass(1800s, {1});
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  Pass(5s, {1});
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kFail);
  EXPECT_EQ(step.over.code, Code::kUnavailable);
  EXPECT_NE(step.over.message.find("host 2 (10.0.0.3)"), std::string::npos) << step.over.message;
  EXPECT_EQ(step.over.message.find("host 1"), std::string::npos);
}

TEST_F(LeaderTest, AMissingHostThatLivesWithAnotherRecipeIsNamedSo) {
  Pass(1805s, {1});
  leader.FoundElsewhere({{2, {.run = "train-0123456789abcdef", .address = "10.0.0.3"}}});
  EXPECT_EQ(leader.Missing(now), "host 2 (10.0.0.3: it runs another recipe, train-0123456789abcdef)");
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kFail);
  EXPECT_NE(step.over.message.find("10.0.0.3: it runs another recipe, train-0123"), std::string::npos)
      << step.over.message;
  Pass(10s);
  EXPECT_EQ(leader.Missing(now), "") << "it is here";
}

TEST_F(LeaderTest, ALocalStepCountsOnlyIfEveryHostHasItFromOneAttempt) {
  leader.Marked(1000);
  cards[0].local = {{1000, 3, "a"}, {1500, 4, "b"}, {2000, 4, "c"}};
  cards[1].local = {{1000, 3, "d"}, {1500, 4, "e"}, {2000, 4, "f"}};
  cards[2].local = {{1000, 3, "g"}, {1500, 4, "h"}, {2000, 3, "i"}};
  Pass(10s);
  EXPECT_EQ(Next().attempt.step, 1500);
  EXPECT_TRUE(Next().attempt.local);
  cards[2].local = {{1000, 3, "g"}};
  Pass(5s);
  EXPECT_EQ(Next().attempt.step, 1000);
  EXPECT_TRUE(Next().attempt.local);
  cards[2].local = {};
  Pass(5s);
  EXPECT_EQ(Next().attempt.step, 1000) << "the marker";
  EXPECT_FALSE(Next().attempt.local);
}

TEST_F(LeaderTest, AMarkerThatIsNewerThanEveryLocalStepCounts) {
  leader.Marked(3000);
  for (HostCard& card : cards) card.local = {{1000, 3, "a"}};
  Pass(10s);
  EXPECT_EQ(Next().attempt.step, 3000);
  EXPECT_FALSE(Next().attempt.local);
}

TEST_F(LeaderTest, AHostWithoutASignIsLost) {
  Pass(10s);
  Begin();
  Pass(40s, {2});
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  Pass(5s, {2});
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd);
  EXPECT_EQ(step.end.number, 5);
  EXPECT_EQ(step.end.lost, std::vector<int>{1});
  EXPECT_NE(step.end.reason.find("host 1 (10.0.0.2) gave no sign of life"), std::string::npos)
      << step.end.reason;
  leader.Closed(now, 0s);
  EXPECT_FALSE(leader.attempt());
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing) << "host 1 is not there";
}

TEST_F(LeaderTest, AHostThatWasStartedAgainIsLost) {
  Pass(10s);
  Begin();
  cards[1].nonce = "again";
  Pass(5s);
  const LeaderStep step = Next();
  EXPECT_EQ(step.kind, LeaderStep::Kind::kEnd);
  EXPECT_EQ(step.end.lost, std::vector<int>{1});
}

TEST_F(LeaderTest, AFailureThatALostHostCausedCostsNothing) {
  Pass(10s);
  Begin();
  End(0, 70, "JAX lost a peer");
  End(2, 134, "abort");
  Pass(40s, {2});  // host 1 is frozen, the others' trainers have failed by it
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  Pass(5s, {2});
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd);
  EXPECT_EQ(step.end.lost, std::vector<int>{1});
}

TEST_F(LeaderTest, AHostThatWasCutOffAndEndedItsTrainerIsLost) {
  for (const int host : {0, 1}) {
    Pass(10s);
    Begin();
    TrainerEnd end = Ended(cards[0].trains, 0, "this host could not renew its sign of life for 31 s");
    end.signal = 9;
    end.lost = true;
    HostCard& card = cards[static_cast<std::size_t>(host)];
    card.trains = 0;
    card.ended = end;
    Pass(5s);
    const LeaderStep step = Next();
    ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd) << "at once";
    EXPECT_EQ(step.end.lost, std::vector<int>{host});
    EXPECT_NE(step.end.reason.find("ended its trainer: this host could not renew"), std::string::npos)
        << step.end.reason;
    EndAll(75);
    leader.Closed(now, 0s);
  }
}

TEST_F(LeaderTest, AFailureDecidesWhenAllHaveEndedOrInTime) {
  Pass(10s);
  Begin();
  End(1, 86, "diverged");
  Pass(5s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  End(0, 75), End(2, 75);
  Pass(5s);
  LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd);
  EXPECT_TRUE(step.end.lost.empty());
  EXPECT_EQ(step.decided.code, 86);
  EXPECT_EQ(step.end.reason, "diverged");
  leader.Closed(now, 7s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing) << "the restart policy waits";
  Pass(10s);
  Begin();
  End(1, 75);
  Pass(5s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  Pass(50s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  Pass(5s);
  step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd) << "the others hang";
  EXPECT_EQ(step.decided.code, 75);
}

TEST_F(LeaderTest, AHostThatIsStoppedIsLostWhenAllHaveSaved) {
  Pass(10s);
  Begin();
  cards[1].leaves = true;
  Pass(5s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  EndAll(42);
  Pass(5s);
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd);
  EXPECT_EQ(step.end.lost, std::vector<int>{1});
  EXPECT_EQ(step.end.reason, "host 1 (10.0.0.2) was stopped");
}

/// With `grace: 300`.
class PatientLeaderTest : public testing::Test {
 protected:
  PatientLeaderTest() {
    HostTiming timing;
    timing.save = 320s;
    leader.emplace(3, timing, now);
    leader->Marked(-1);
    for (int host = 0; host < 3; ++host) {
      cards[static_cast<std::size_t>(host)].host = host;
      cards[static_cast<std::size_t>(host)].hosts = 3;
      cards[static_cast<std::size_t>(host)].nonce = "n" + std::to_string(host);
    }
    leader->Begun(Pass(10s).attempt, now);
    for (HostCard& card : cards) card.trains = 1;
    cards[1].leaves = true;
  }
  LeaderStep Pass(Time time, std::vector<int> alive = {1, 2}) {
    LeaderStep step;
    for (const Time until = now + time; now < until;) {
      now += 5s;
      for (const int host : alive) ++cards[static_cast<std::size_t>(host)].sign;
      for (int host = 1; host < 3; ++host) leader->Saw(host, cards[static_cast<std::size_t>(host)], now);
      step = leader->Next(cards[0], now);
    }
    return step;
  }

  Time now = 0s;
  std::vector<HostCard> cards = std::vector<HostCard>(3);
  std::optional<Leader> leader;
};

TEST_F(PatientLeaderTest, AStopWaitsAsLongAsACheckpointMayTake) {
  EXPECT_EQ(Pass(320s).kind, LeaderStep::Kind::kNothing) << "the trainers would be killed while they save";
  EXPECT_EQ(Pass(10s).kind, LeaderStep::Kind::kEnd);
}

TEST_F(PatientLeaderTest, AHostThatHasSavedAndGoneIsNotLostWhileOthersSave) {
  cards[1].trains = 0;
  cards[1].ended = Ended(1, 42);
  Pass(5s);
  EXPECT_EQ(Pass(200s, {2}).kind, LeaderStep::Kind::kNothing);
  cards[0].ended = cards[2].ended = Ended(1, 42);
  cards[0].trains = cards[2].trains = 0;
  const LeaderStep step = Pass(5s, {2});
  ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd);
  EXPECT_EQ(step.end.lost, std::vector<int>{1});
}

TEST_F(LeaderTest, AllDoneNeedsEveryHost) {
  Pass(10s);
  Begin();
  End(0, 0), End(1, 0);
  Pass(300s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  End(2, 0);
  Pass(5s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kAllDone);
}

TEST_F(LeaderTest, AnEndOfAnEarlierAttemptIsNoEnd) {
  Pass(10s);
  for (HostCard& card : cards) card.ended = Ended(4, 86);
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kBegin);
  leader.Begun(step.attempt, now);
  for (HostCard& card : cards) card.trains = 5;
  Pass(300s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
}

TEST_F(LeaderTest, AHostThatLivesAndBeginsNothingIsLost) {
  Pass(10s);
  const LeaderStep begin = Next();
  ASSERT_EQ(begin.kind, LeaderStep::Kind::kBegin);
  leader.Begun(begin.attempt, now);
  cards[0].trains = cards[1].trains = 5;
  Pass(120s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  Pass(5s);
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd);
  EXPECT_EQ(step.end.lost, std::vector<int>{2});
  EXPECT_NE(step.end.reason.find("host 2 (10.0.0.3) lives, and has not begun attempt 5"), std::string::npos)
      << step.end.reason;
}

TEST_F(LeaderTest, AStopOfTheLeaderEndsTheRunWhenAllHaveSaved) {
  Pass(10s);
  Begin();
  cards[0].leaves = true;
  Pass(5s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kNothing);
  EndAll(42);
  Pass(5s);
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kFail);
  EXPECT_EQ(step.over.outcome, TrainingOutcome::kStopped);
}

TEST_F(LeaderTest, AHostThatIsStoppedBeforeItBeganIsLostAtOnce) {
  Pass(10s);
  const LeaderStep begin = Next();
  ASSERT_EQ(begin.kind, LeaderStep::Kind::kBegin);
  leader.Begun(begin.attempt, now);
  cards[0].trains = cards[1].trains = begin.attempt.number;
  cards[2].leaves = true;
  Pass(5s);
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kEnd) << "it will not come";
  EXPECT_EQ(step.end.lost, std::vector<int>{2});
  EXPECT_EQ(step.end.reason, "host 2 (10.0.0.3) was stopped");
}

TEST_F(LeaderTest, ALeaderThatIsStoppedBeforeItBeganEndsAtOnce) {
  Pass(10s);
  const LeaderStep begin = Next();
  ASSERT_EQ(begin.kind, LeaderStep::Kind::kBegin);
  cards[0].leaves = true;  // while the object was written
  leader.Begun(begin.attempt, now);
  ASSERT_EQ(Next().kind, LeaderStep::Kind::kFail);
  EXPECT_EQ(Next().over.outcome, TrainingOutcome::kStopped);
}

TEST_F(LeaderTest, AStopOfTheLeaderDoesNotWaitForHosts) {
  cards[0].leaves = true;
  const LeaderStep step = Next();
  ASSERT_EQ(step.kind, LeaderStep::Kind::kFail);
  EXPECT_EQ(step.over.outcome, TrainingOutcome::kStopped);
}

TEST_F(LeaderTest, AfterThreeLossesWithoutACheckpointItWaitsLongerAndLonger) {
  Pass(10s);
  std::vector<std::int64_t> waits;
  for (int loss = 0; loss < 12; ++loss) {
    Lose();
    std::int64_t waited = 0;
    while (Next().kind == LeaderStep::Kind::kNothing) {
      now += 1s, ++waited;
      ++cards[1].sign, ++cards[2].sign;
      Read();
      ASSERT_LT(waited, 100);
    }
    waits.push_back(waited);
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60}));
  Begin();
  leader.Marked(500);
  cards[2].nonce += "'";
  Pass(5s);
  ASSERT_EQ(Next().kind, LeaderStep::Kind::kEnd);
  EndAll(75);
  leader.Closed(now, 0s);
  Pass(5s);
  EXPECT_EQ(Next().kind, LeaderStep::Kind::kBegin) << "a checkpoint was made";
}

TEST(DecisiveTest, AFailureThatExplainsTheOthersDecides) {
  const auto decided = [](std::vector<int> codes) {
    std::map<int, TrainerEnd> ends;
    for (std::size_t host = 0; host < codes.size(); ++host)
      ends[static_cast<int>(host)] = Ended(1, codes[host]);
    return Decisive(ends).code;
  };
  EXPECT_EQ(decided({75, 64, 70}), 64);
  EXPECT_EQ(decided({0, 75, 0}), 75);
  EXPECT_EQ(decided({137, 75, 42}), 137) << "the kernel killed it";
  EXPECT_EQ(decided({134, 75, 42}), 75) << "JAX aborts a process when the one with the coordinator ends";
  EXPECT_EQ(decided({134, 134, 42}), 134);
  EXPECT_EQ(decided({134, 70}), 70);
  EXPECT_EQ(decided({42, 0}), 42);
  EXPECT_EQ(decided({99, 75}), 99);
  EXPECT_EQ(decided({0, 0}), 0);
}

/// The codes of an external trainer mean nothing by themselves.
TEST(DecisiveTest, TheMeaningOfAnExternalTrainersEndDecidesBeforeItsCode) {
  TrainerEnd unknown = Ended(1, 64), fatal = Ended(1, 3), unfinished = Ended(1, 0);
  unknown.again = fatal.fatal = unfinished.again = true;
  EXPECT_EQ(Decisive({{0, unknown}, {1, fatal}}).code, 3);
  EXPECT_FALSE(Decisive({{0, Ended(1, 0)}, {1, unfinished}}).good());
  EXPECT_EQ(Decisive({{0, Ended(1, 42)}, {1, unknown}}).code, 64);
  TrainerEnd killed = Ended(1, 0);
  killed.again = true;
  killed.signal = 9;
  EXPECT_EQ(Decisive({{0, unknown}, {1, killed}}).signal, 9) << "the other one lost it";
}

}  // namespace
}  // namespace pipeline
