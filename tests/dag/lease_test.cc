#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "dag/location/lease_keeper.h"
#include "dag/location/versioned_lease.h"
#include "storage/memory_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fault_store.h"

namespace pipeline {
namespace {

LeaseTerms TermsOf(const std::string& name) {
  return {name, name + ", process 1", "", std::chrono::milliseconds(1000)};
}

Result<std::unique_ptr<Lease>> TakeLease(Store& store, const std::string& place, const LeaseTerms& terms,
                                         const std::optional<SeenLease>& silent = std::nullopt) {
  std::unique_ptr<Lease> lease = std::make_unique<VersionedLease>(store, place, terms);
  RETURN_IF_ERROR(lease->Take(silent, {}));
  return lease;
}

Result<std::optional<SeenLease>> LookAtLease(Store& store) {
  return VersionedLease(store, "gs://bucket/out", TermsOf("nobody")).Look({});
}

Json Written(Store& store) {
  const Result<std::string> text = ReadObject(store, kLeaseName, 1 << 20);
  EXPECT_TRUE(text.ok()) << text.status().message();
  const Result<Json> json = Json::Parse(text.ok() ? *text : "{}");
  return json.ok() ? *json : Json();
}

/// Time that passes when it is waited for; what happens meanwhile is up to the test.
struct Waiting {
  std::function<void()> meanwhile = [] {};
  std::chrono::milliseconds waited{0};
  LeaseWait wait() {
    return [this](std::chrono::milliseconds time, std::stop_token stop) -> Status {
      if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
      waited += time;
      meanwhile();
      return {};
    };
  }
};

class LeaseKeeperTest : public testing::Test {
 protected:
  Result<std::unique_ptr<LeaseKeeper>> Take(const std::string& who, std::stop_token stop = {}) {
    return LeaseKeeper::Take(
        {{"gs://bucket/two", &two_}, {"gs://bucket/one", &one_}}, TermsOf(who), waiting_.wait(), clock_,
        [this](std::string_view line) { notes_.emplace_back(line); }, stop);
  }
  /// As a run that was killed.
  std::unique_ptr<Lease> LeftBy(const std::string& who, Store& store) {
    auto lease = TakeLease(store, "gs://bucket/left", TermsOf(who));
    EXPECT_TRUE(lease.ok()) << lease.status().message();
    return lease.ok() ? std::move(*lease) : nullptr;
  }

  MemoryStore one_, two_;
  FakeClock clock_;
  Waiting waiting_;
  std::vector<std::string> notes_;
};

TEST(LeaseTest, SaysWhoHoldsItAndForHowLong) {
  MemoryStore store;
  const auto lease = TakeLease(store, "gs://bucket/out", TermsOf("ours"));
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(Written(store).Dump(),
            R"({"every_ms":1000,"holder":"ours","pipe_lease":1,"renewal":0,"who":"ours, process 1"})");
  ASSERT_TRUE((*lease)->GiveBack({}).ok());
  EXPECT_EQ(Written(store)["holder"].AsString("?"), "");
}

TEST(LeaseTest, IsRefusedToAnotherAndTakenAgainByTheSame) {
  MemoryStore store;
  const auto ours = TakeLease(store, "gs://bucket/out", TermsOf("ours"));
  ASSERT_TRUE(ours.ok());
  const auto theirs = TakeLease(store, "gs://bucket/out", TermsOf("theirs"));
  EXPECT_EQ(theirs.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(theirs.status().message().find("gs://bucket/out: ours, process 1 is writing there"),
            std::string::npos);
  LeaseTerms next = TermsOf("ours");
  next.who = "ours, process 2";
  const auto again = TakeLease(store, "gs://bucket/out", next);
  EXPECT_TRUE(again.ok());
  EXPECT_EQ((*ours)->Renew({}).code(), Code::kFailedPrecondition) << "the run from before has lost it";
}

TEST(LeaseTest, TheSilentOneIsTakenOverUnlessItChangedSince) {
  MemoryStore store;
  const auto ours = TakeLease(store, "gs://bucket/out", TermsOf("ours"));
  ASSERT_TRUE(ours.ok());
  const auto silent = LookAtLease(store);
  ASSERT_TRUE(silent.ok() && *silent);
  ASSERT_TRUE((*ours)->Renew({}).ok());
  EXPECT_EQ(TakeLease(store, "gs://bucket/out", TermsOf("theirs"), *silent).status().code(),
            Code::kFailedPrecondition);
  const auto silent_now = LookAtLease(store);
  ASSERT_TRUE(silent_now.ok());
  EXPECT_TRUE(TakeLease(store, "gs://bucket/out", TermsOf("theirs"), *silent_now).ok());
  EXPECT_EQ((*ours)->GiveBack({}).code(), Code::kFailedPrecondition) << "it is not ours to give back";
  EXPECT_EQ(Written(store)["holder"].AsString(), "theirs");
}

TEST(LeaseTest, ARenewalWhoseAnswerWasLostIsNoLoss) {
  MemoryStore store;
  FaultStore flaky(store);
  const auto lease = TakeLease(flaky, "gs://bucket/out", TermsOf("ours"));
  ASSERT_TRUE(lease.ok());
  flaky.LoseAnswerOfCommit(1);
  EXPECT_EQ((*lease)->Renew({}).code(), Code::kUnavailable);
  for (int turn = 0; turn < 3; ++turn) EXPECT_TRUE((*lease)->Renew({}).ok()) << turn;
  EXPECT_TRUE((*lease)->GiveBack({}).ok());
  EXPECT_EQ(Written(store)["holder"].AsString("?"), "");
}

/// Others wait since the last change that they saw. A renewal that only found an earlier one would let its
/// run write for longer than they wait.
TEST(LeaseTest, ARenewalAlwaysChangesTheLease) {
  MemoryStore store;
  FaultStore flaky(store);
  const auto lease = TakeLease(flaky, "gs://bucket/out", TermsOf("ours"));
  ASSERT_TRUE(lease.ok());
  flaky.LoseAnswerOfCommit(1);
  EXPECT_FALSE((*lease)->Renew({}).ok());
  for (int turn = 0; turn < 3; ++turn) {
    const auto before = LookAtLease(store);
    ASSERT_TRUE((*lease)->Renew({}).ok());
    const auto after = LookAtLease(store);
    ASSERT_TRUE(before.ok() && *before && after.ok() && *after);
    EXPECT_NE((*before)->version, (*after)->version) << turn;
  }
}

TEST(LeaseTest, IsGivenBackAlsoAfterARenewalWhoseAnswerWasLost) {
  MemoryStore store;
  FaultStore flaky(store);
  const auto lease = TakeLease(flaky, "gs://bucket/out", TermsOf("ours"));
  ASSERT_TRUE(lease.ok());
  flaky.LoseAnswerOfCommit(1);
  EXPECT_FALSE((*lease)->Renew({}).ok());
  EXPECT_TRUE((*lease)->GiveBack({}).ok());
  EXPECT_EQ(Written(store)["holder"].AsString("?"), "");
}

TEST(LeaseTest, OneThatWasRemovedIsNotTakenOver) {
  MemoryStore store;
  const auto lease = TakeLease(store, "gs://bucket/out", TermsOf("ours"));
  ASSERT_TRUE(lease.ok());
  ASSERT_TRUE(store.RemoveAll(*store.List(""), [] { return true; }).ok());
  for (const Status& lost : {(*lease)->Renew({}), (*lease)->GiveBack({})}) {
    EXPECT_EQ(lost.code(), Code::kFailedPrecondition);
    EXPECT_NE(lost.message().find("gs://bucket/out: the lease of this run was removed"), std::string::npos)
        << lost.message();
  }
}

TEST(LeaseTest, OneThatCannotBeReadIsHeld) {
  for (const std::string text : {"", "not JSON", "[]", R"({"holder":7})"}) {
    MemoryStore store;
    ASSERT_TRUE(WriteObject(store, kLeaseName, text, Condition::CreateOnly()).ok());
    EXPECT_EQ(TakeLease(store, "gs://bucket/out", TermsOf("ours")).status().code(), Code::kFailedPrecondition)
        << text;
  }
}

TEST_F(LeaseKeeperTest, WhatNobodyHoldsIsTakenAtOnceAndGivenBack) {
  {
    const auto keeper = Take("ours");
    ASSERT_TRUE(keeper.ok()) << keeper.status().message();
    EXPECT_EQ(Written(one_)["holder"].AsString(), "ours");
    EXPECT_EQ(Written(two_)["holder"].AsString(), "ours");
  }
  EXPECT_EQ(Written(one_)["holder"].AsString("?"), "");
  EXPECT_EQ(Written(two_)["holder"].AsString("?"), "");
  EXPECT_EQ(waiting_.waited.count(), 0);
}

TEST_F(LeaseKeeperTest, SilentOnesAreWaitedForTogetherAndTakenOver) {
  LeftBy("dead", one_);
  LeftBy("dead", two_);
  const auto keeper = Take("ours");
  ASSERT_TRUE(keeper.ok()) << keeper.status().message();
  EXPECT_EQ(waiting_.waited, std::chrono::seconds(4));
  ASSERT_EQ(notes_.size(), 2u);
  EXPECT_NE(notes_[0].find("gs://bucket/one: was held by dead, process 1"), std::string::npos) << notes_[0];
  EXPECT_EQ(Written(one_)["holder"].AsString(), "ours");
}

TEST_F(LeaseKeeperTest, OneThatIsRenewedMeanwhileRefusesAll) {
  const auto alive = LeftBy("alive", two_);
  waiting_.meanwhile = [&] { EXPECT_TRUE(alive->Renew({}).ok()); };
  const auto keeper = Take("ours");
  EXPECT_EQ(keeper.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(keeper.status().message().find("alive, process 1 is writing there"), std::string::npos);
  EXPECT_FALSE(one_.Stat(kLeaseName)->has_value()) << "nothing was taken";
}

TEST_F(LeaseKeeperTest, OneThatIsGivenBackMeanwhileIsTaken) {
  const auto ending = LeftBy("ending", one_);
  waiting_.meanwhile = [&, given = false]() mutable {
    if (!std::exchange(given, true)) {
      EXPECT_TRUE(ending->GiveBack({}).ok());
    }
  };
  EXPECT_TRUE(Take("ours").ok());
  EXPECT_LT(waiting_.waited, std::chrono::seconds(1)) << "nobody is waited for any more";
}

TEST_F(LeaseKeeperTest, WhatWasTakenIsGivenBackWhenAnotherCannotBeHad) {
  waiting_.meanwhile = [&] { LeftBy("quicker", two_); };  // once the silent one was looked at
  LeftBy("dead", one_);
  EXPECT_EQ(Take("ours").status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Written(one_)["holder"].AsString("?"), "");
  EXPECT_EQ(Written(two_)["holder"].AsString("?"), "quicker");
}

TEST_F(LeaseKeeperTest, StopsWaitingWhenToldTo) {
  LeftBy("dead", one_);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Take("ours", stop.get_token()).status().code(), Code::kCancelled);
}

TEST_F(LeaseKeeperTest, TellsOnceThatOneIsLost) {
  auto keeper = Take("ours");
  ASSERT_TRUE(keeper.ok());
  // Somebody took us for dead.
  ASSERT_TRUE(WriteObject(two_, kLeaseName, R"({"holder":"theirs"})", Condition::ReplaceAny()).ok());
  std::mutex mutex;
  std::condition_variable told;
  std::vector<Status> lost;
  (*keeper)->Start([&](Status why) {
    const std::scoped_lock lock(mutex);
    lost.push_back(std::move(why));
    told.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    told.wait(lock, [&] { return !lost.empty(); });
  }
  keeper->reset();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_NE(lost[0].message().find("gs://bucket/two: another run has taken it over"), std::string::npos);
  EXPECT_EQ(Written(two_)["holder"].AsString(), "theirs");
  EXPECT_EQ(Written(one_)["holder"].AsString("?"), "");
}

}  // namespace
}  // namespace pipeline
