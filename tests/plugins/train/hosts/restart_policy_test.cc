#include "plugins/train/hosts/restart_policy.h"

#include <gtest/gtest.h>

namespace pipeline {
namespace {

using Kind = RestartDecision::Kind;
using namespace std::chrono_literals;

TrainerEnd Ended(int code, bool progressed = false) {
  TrainerEnd end;
  end.code = code;
  end.progressed = progressed;
  end.cause = "it ended";
  return end;
}

TrainerEnd Killed(int signal, bool progressed) {
  TrainerEnd end = Ended(0, progressed);
  end.signal = signal;
  return end;
}

struct Final {
  int code;
  Code status;
};
class RestartPolicyFinalTest : public testing::TestWithParam<Final> {};

TEST_P(RestartPolicyFinalTest, IsNeverTriedAgain) {
  for (const bool progressed : {false, true}) {
    const RestartDecision decision = RestartPolicy(3, false).Decide(Ended(GetParam().code, progressed));
    EXPECT_EQ(decision.kind, Kind::kFail);
    EXPECT_EQ(decision.code, GetParam().status);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RestartPolicyFinalTest,
                         testing::Values(Final{64, Code::kInvalidArgument}, Final{65, Code::kDataLoss},
                                         Final{78, Code::kFailedPrecondition},
                                         Final{86, Code::kFailedPrecondition}, Final{1, Code::kInternal},
                                         Final{2, Code::kInternal}, Final{127, Code::kInternal}));

TEST(RestartPolicyTest, ResumeIsFreeWhileEachAttemptLeavesACheckpoint) {
  RestartPolicy policy(0, false);
  for (int attempt = 0; attempt < 100; ++attempt)
    EXPECT_EQ(policy.Decide(Ended(42, true)).kind, Kind::kAgain);
  EXPECT_EQ(policy.Decide(Ended(42, false)).kind, Kind::kFail);
}

TEST(RestartPolicyTest, BudgetCountsAttemptsInARowWithoutACheckpoint) {
  RestartPolicy policy(2, false);
  EXPECT_EQ(policy.Decide(Ended(75)).kind, Kind::kAgain);
  EXPECT_EQ(policy.Decide(Ended(69)).kind, Kind::kAgain);
  EXPECT_EQ(policy.Decide(Ended(75, true)).kind, Kind::kAgain) << "a checkpoint gives the budget back";
  EXPECT_EQ(policy.Decide(Ended(42)).kind, Kind::kAgain);
  EXPECT_EQ(policy.Decide(Ended(75)).kind, Kind::kAgain);
  const RestartDecision last = policy.Decide(Ended(75));
  EXPECT_EQ(last.kind, Kind::kFail);
  EXPECT_EQ(last.code, Code::kUnavailable);
  EXPECT_EQ(last.why,
            "it ended: given up after 3 attempts in a row without a new checkpoint (`restarts: 2`)");
}

TEST(RestartPolicyTest, DeviceOfAnotherProgramIsWaitedForAndCostsNoAttempt) {
  RestartPolicy policy(1, false);
  EXPECT_EQ(policy.Decide(Ended(75)).kind, Kind::kAgain);
  for (int minute = 0; minute < 500; ++minute) {
    const RestartDecision held = policy.Decide(Ended(76));
    EXPECT_EQ(held.kind, Kind::kAgain);
    EXPECT_EQ(held.wait, 60s);
    EXPECT_EQ(held.why, "it ended");
  }
  EXPECT_EQ(policy.Decide(Ended(75)).kind, Kind::kFail) << "the budget is what it was before";
  TrainerEnd stopped = Ended(76);
  stopped.stopped = true;
  EXPECT_EQ(RestartPolicy(0, false).Decide(stopped).kind, Kind::kStopped);
  EXPECT_EQ(RestartPolicy(0, false).Decide(Ended(76)).kind, Kind::kAgain);
}

TEST(RestartPolicyTest, WaitsDoubleUpToAMinuteAndBeginAnewAfterProgress) {
  RestartPolicy policy(100, false);
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) EXPECT_EQ(policy.Decide(Ended(75)).wait, wait);
  EXPECT_EQ(policy.Decide(Ended(75, true)).wait, 1s);
  EXPECT_EQ(policy.Decide(Ended(75)).wait, 1s);
  EXPECT_EQ(policy.Decide(Ended(42)).wait, 0s);
}

TEST(RestartPolicyTest, BugIsTriedAgainOnceAndOnlyAfterProgress) {
  EXPECT_EQ(RestartPolicy(3, false).Decide(Ended(70)).kind, Kind::kFail);
  RestartPolicy policy(3, false);
  EXPECT_EQ(policy.Decide(Ended(70, true)).kind, Kind::kAgain);
  EXPECT_EQ(policy.Decide(Ended(70, true)).kind, Kind::kFail);
}

TEST(RestartPolicyTest, KilledIsResumedWhereItLeftACheckpoint) {
  RestartPolicy policy(3, false);
  EXPECT_EQ(policy.Decide(Killed(9, true)).kind, Kind::kAgain);
  EXPECT_EQ(policy.Decide(Ended(128 + 15, true)).kind, Kind::kAgain);
  const RestartDecision memory = policy.Decide(Killed(9, false));
  EXPECT_EQ(memory.kind, Kind::kFail);
  EXPECT_NE(memory.why.find("memory is full"), std::string::npos);
  EXPECT_EQ(RestartPolicy(3, false).Decide(Killed(11, false)).kind, Kind::kFail);
}

TEST(RestartPolicyTest, AbortOfOneOfSeveralProcessesMayPass) {
  RestartPolicy several(1, true);
  EXPECT_EQ(several.Decide(Killed(6, false)).kind, Kind::kAgain);
  EXPECT_EQ(several.Decide(Ended(128 + 6)).kind, Kind::kFail) << "restarts bound it";
  EXPECT_EQ(RestartPolicy(1, true).Decide(Killed(11, false)).kind, Kind::kFail);
  EXPECT_EQ(RestartPolicy(1, false).Decide(Killed(6, false)).kind, Kind::kFail);
}

TEST(RestartPolicyTest, HangCountsAsWhatMayPass) {
  TrainerEnd hung = Killed(9, false);
  hung.hung = true;
  RestartPolicy policy(1, false);
  const RestartDecision first = policy.Decide(hung);
  EXPECT_EQ(first.kind, Kind::kAgain);
  EXPECT_EQ(first.wait, 1s);
  EXPECT_EQ(policy.Decide(hung).kind, Kind::kFail);
}

TEST(RestartPolicyTest, CallerMayExplainAnEndThatTheContractDoesNot) {
  TrainerEnd end = Ended(0);
  end.again = true;
  RestartPolicy policy(1, false);
  EXPECT_EQ(policy.Decide(end).kind, Kind::kAgain) << "an end with 0 is no success";
  EXPECT_EQ(policy.Decide(end).code, Code::kUnavailable);
  end.fatal = true;
  EXPECT_EQ(RestartPolicy(3, false).Decide(end).code, Code::kFailedPrecondition);
  end.stopped = true;
  EXPECT_EQ(RestartPolicy(3, false).Decide(end).kind, Kind::kStopped);
}

TEST(RestartPolicyTest, StopIsNoFailureWhateverTheTrainerMadeOfIt) {
  for (TrainerEnd end : {Ended(42), Ended(70), Killed(9, false)}) {
    end.stopped = true;
    EXPECT_EQ(RestartPolicy(0, false).Decide(end).kind, Kind::kStopped);
  }
  TrainerEnd done = Ended(0);
  done.stopped = true;
  EXPECT_EQ(RestartPolicy(0, false).Decide(done).kind, Kind::kDone);
}

}  // namespace
}  // namespace pipeline
