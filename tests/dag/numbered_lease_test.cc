// The lease of a directory: dag/location/lease.md
#include "dag/location/numbered_lease.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "dag/location/lease_keeper.h"
#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fault_store.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

LeaseTerms TermsOf(const std::string& name, const std::string& host) {
  return {name, name + ", process 1", host, std::chrono::milliseconds(1000)};
}

class NumberedLeaseTest : public testing::Test {
 protected:
  /// As a run on another machine each, with the lock of the kernel, which says nothing there.
  std::unique_ptr<NumberedLease> LeaseOf(const std::string& who, Store& store) {
    return std::make_unique<NumberedLease>(store, "/out", TermsOf(who, "host of " + who), true);
  }
  std::unique_ptr<NumberedLease> LeaseOf(const std::string& who) { return LeaseOf(who, store_); }
  std::optional<SeenLease> Seen() {
    const auto seen = LeaseOf("onlooker")->Look({});
    EXPECT_TRUE(seen.ok()) << seen.status().message();
    return seen.ok() ? *seen : std::nullopt;
  }
  std::string Object(const std::string& number) { return ".pipe/lease/" + number; }

  MemoryStore store_;
};

TEST_F(NumberedLeaseTest, IsWrittenAsItsPageSays) {
  const auto ours = LeaseOf("ours");
  ASSERT_TRUE(ours->Take(std::nullopt, {}).ok());
  const auto text = ReadObject(store_, Object("00000001"), 1000);
  ASSERT_TRUE(text.ok());
  const Result<Json> json = Json::Parse(*text);
  ASSERT_TRUE(json.ok());
  const std::string nonce((*json)["nonce"].AsString());
  EXPECT_EQ(nonce.size(), 32u);
  EXPECT_EQ(*text, R"({"every_ms":1000,"holder":"ours","host":"host of ours","nonce":")" + nonce +
                       R"(","number":1,"pipe_lease":2,"who":"ours, process 1"})");
  ASSERT_TRUE(ours->Renew({}).ok());
  EXPECT_EQ(ReadObject(store_, Object("alive"), 1000).value(), R"({"nonce":")" + nonce + R"(","renewal":1})");
  ASSERT_TRUE(ours->GiveBack({}).ok());
  EXPECT_EQ(Seen()->holder, "");
}

TEST_F(NumberedLeaseTest, IsRefusedToAnotherUntilItIsGivenBack) {
  const auto ours = LeaseOf("ours"), theirs = LeaseOf("theirs");
  ASSERT_TRUE(ours->Take(std::nullopt, {}).ok());
  const Status refused = theirs->Take(std::nullopt, {});
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_NE(refused.message().find("/out: ours, process 1 is writing there"), std::string::npos);
  ASSERT_TRUE(ours->GiveBack({}).ok());
  ASSERT_TRUE(theirs->Take(std::nullopt, {}).ok());
  EXPECT_NE(ours->Confirm({}).Detail<LostLease>(), nullptr);
  EXPECT_NE(ours->Renew({}).Detail<LostLease>(), nullptr);
  EXPECT_NE(ours->GiveBack({}).Detail<LostLease>(), nullptr) << "it is not ours to give back";
  EXPECT_EQ(Seen()->holder, "theirs");
}

TEST_F(NumberedLeaseTest, TheSilentOneIsTakenOverUnlessItGaveASignSince) {
  const auto ours = LeaseOf("ours"), theirs = LeaseOf("theirs");
  ASSERT_TRUE(ours->Take(std::nullopt, {}).ok());
  for (const bool sign : {true, false}) {
    const std::optional<SeenLease> silent = Seen();
    ASSERT_TRUE(sign ? ours->Renew({}).ok() : ours->Confirm({}).ok());
    EXPECT_EQ(theirs->Take(silent, {}).code(), Code::kFailedPrecondition) << sign;
  }
  EXPECT_TRUE(theirs->Take(Seen(), {}).ok());
  EXPECT_NE(ours->Renew({}).Detail<LostLease>(), nullptr);
}

TEST_F(NumberedLeaseTest, OfTwoThatTakeTheSilentOneAtOnceOneDoes) {
  ASSERT_TRUE(LeaseOf("dead")->Take(std::nullopt, {}).ok());
  const std::optional<SeenLease> silent = Seen();
  const auto one = LeaseOf("one"), two = LeaseOf("two");
  EXPECT_TRUE(one->Take(silent, {}).ok());
  EXPECT_EQ(two->Take(silent, {}).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(one->Confirm({}).ok());
}

TEST_F(NumberedLeaseTest, OfTheSameHostItIsFreeToWhomTheKernelGaveTheLock) {
  ASSERT_TRUE(LeaseOf("dead")->Take(std::nullopt, {}).ok());
  const auto taken = [this](const std::string& holder, const std::string& host, bool locked) {
    NumberedLease lease(store_, "/out", TermsOf(holder, host), locked);
    return lease.Take(std::nullopt, {}).ok();
  };
  EXPECT_FALSE(taken("another", "host of another", true)) << "another machine";
  EXPECT_FALSE(taken("dead", "host of another", true)) << "the lock of a work directory is no better";
  EXPECT_FALSE(taken("another", "host of dead", false)) << "no lock";
  EXPECT_FALSE(taken("another", "", true)) << "a host without a name";
  EXPECT_TRUE(taken("another", "host of dead", true));
  NumberedLease again(store_, "/out", TermsOf("another", "host of dead"), false);
  EXPECT_TRUE(again.Take(std::nullopt, {}).ok()) << "by the lock of the work directory";
}

TEST_F(NumberedLeaseTest, AnAnswerThatWasLostChangesNothing) {
  for (int lost = 1; lost <= 4; ++lost) {
    MemoryStore store;
    FaultStore flaky(store);
    flaky.LoseAnswerOfCommit(lost);
    const auto ours = LeaseOf("ours", flaky);
    ASSERT_TRUE(ours->Take(std::nullopt, {}).ok()) << lost;
    ASSERT_TRUE(ours->Confirm({}).ok()) << lost;
    ASSERT_TRUE(ours->Confirm({}).ok()) << lost;
    ASSERT_TRUE(ours->GiveBack({}).ok()) << lost;
    EXPECT_EQ(store.List(kNumberedLeasePrefix).value().size(), 4u) << lost;
    EXPECT_TRUE(LeaseOf("theirs", store)->Take(std::nullopt, {}).ok()) << lost;
  }
}

/// Others wait since the last number that they saw. A confirmation that only found an earlier one of its run
/// would let that run write for longer than they wait.
TEST_F(NumberedLeaseTest, AConfirmationAlwaysCreatesANumber) {
  int lost = 0;  // confirmations that happened and failed
  for (int call = 1; call < 30; ++call) {
    MemoryStore store;
    FaultStore flaky(store);
    const auto ours = LeaseOf("ours", flaky);
    ASSERT_TRUE(ours->Take(std::nullopt, {}).ok());
    const std::size_t taken = store.List(kNumberedLeasePrefix).value().size();
    flaky.LoseAnswerOfCommit(1);
    flaky.FailNth(FaultStore::Call::kOpen, call, Status(Code::kUnavailable, "no answer"));
    const bool failed = !ours->Confirm({}).ok();
    const std::size_t before = store.List(kNumberedLeasePrefix).value().size();
    lost += failed && before > taken;
    Status confirmed = ours->Confirm({});
    for (int again = 0; again < 3 && !confirmed.ok(); ++again) confirmed = ours->Confirm({});
    ASSERT_TRUE(confirmed.ok()) << call << ": " << confirmed.message();
    EXPECT_GT(store.List(kNumberedLeasePrefix).value().size(), before) << call;
  }
  EXPECT_GT(lost, 0);
}

TEST_F(NumberedLeaseTest, OneThatCannotBeReadIsHeld) {
  for (const std::string text : {"", "not JSON", "[]", R"({"holder":7})"}) {
    MemoryStore store;
    ASSERT_TRUE(WriteObject(store, Object("00000001"), text, Condition::CreateOnly()).ok());
    EXPECT_EQ(LeaseOf("ours", store)->Take(std::nullopt, {}).code(), Code::kFailedPrecondition) << text;
  }
}

TEST_F(NumberedLeaseTest, ADirectoryThatWasRemovedIsALoss) {
  const auto ours = LeaseOf("ours");
  ASSERT_TRUE(ours->Take(std::nullopt, {}).ok());
  ASSERT_TRUE(ours->Confirm({}).ok());
  for (const ObjectInfo& object : store_.List("").value()) ASSERT_TRUE(store_.Remove(object.name).ok());
  EXPECT_NE(ours->Renew({}).Detail<LostLease>(), nullptr);
  EXPECT_NE(ours->Confirm({}).Detail<LostLease>(), nullptr);
}

TEST_F(NumberedLeaseTest, OldNumbersGoAndTheHighestIsFound) {
  std::size_t most = 0;
  for (int run = 0; run < 700; ++run) {
    const auto lease = LeaseOf("run " + std::to_string(run));
    ASSERT_TRUE(lease->Take(std::nullopt, {}).ok()) << run;
    for (int confirmed = 0; confirmed < run % 5; ++confirmed) ASSERT_TRUE(lease->Confirm({}).ok()) << run;
    EXPECT_EQ(Seen()->holder, "run " + std::to_string(run));
    ASSERT_TRUE(lease->GiveBack({}).ok()) << run;
    most = std::max(most, store_.List(kNumberedLeasePrefix).value().size());
  }
  EXPECT_LE(most, 9u * 4u + 5u);
}

TEST_F(NumberedLeaseTest, ANumberThatWasRemovedIsNotTakenForANewOne) {
  // `late` looks at number 4, is held up, and creates number 5 when that was removed long ago.
  const auto first = LeaseOf("first");
  ASSERT_TRUE(first->Take(std::nullopt, {}).ok());
  for (int number = 2; number <= 4; ++number) ASSERT_TRUE(first->Confirm({}).ok());
  NumberedLease late(store_, "/out", TermsOf("first", "host of first"), true);  // the same, and again
  const std::optional<SeenLease> silent = Seen();
  ASSERT_TRUE(late.Take(silent, {}).ok());
  const auto others = LeaseOf("others");
  ASSERT_TRUE(others->Take(Seen(), {}).ok());
  for (int number = 7; number <= 30; ++number) ASSERT_TRUE(others->Confirm({}).ok());
  const auto next = LeaseOf("next");
  ASSERT_TRUE(next->Take(Seen(), {}).ok());  // removes what is old
  ASSERT_FALSE(store_.Stat(Object("00000006"))->has_value());
  EXPECT_NE(late.Confirm({}).Detail<LostLease>(), nullptr);
  EXPECT_EQ(Seen()->holder, "next") << "what it made is seen by nobody";
  EXPECT_TRUE(next->Confirm({}).ok());
}

TEST(OldNumberTest, WhatTheSearchNeedsStays) {
  for (std::uint64_t highest = 1; highest < 1300; ++highest) {
    std::map<std::uint64_t, bool> there;
    for (std::uint64_t number = 1; number <= highest; ++number) there[number] = !IsOldNumber(number, highest);
    std::uint64_t found = 0;
    for (std::uint64_t step = 10'000; step > 0; step /= 10)
      while (there[found + step]) found += step;
    ASSERT_EQ(found, highest);
  }
}

/// Several machines at one place, a step at a time in a random order, each of which may be held up for long.
TEST_F(NumberedLeaseTest, NeverHaveTwoConfirmedItAtOnce) {
  std::mt19937_64 chance(5);
  for (int round = 0; round < 200; ++round) {
    MemoryStore store;
    struct Machine {
      std::unique_ptr<NumberedLease> lease;
      std::optional<SeenLease> watched;
      bool holds = false;
    };
    std::vector<Machine> machines(3);
    int holder = -1;  // the last that took it, for which alone a confirmation may go well
    for (int step = 0; step < 60; ++step) {
      const auto at = static_cast<std::size_t>(chance() % machines.size());
      Machine& machine = machines[at];
      if (!machine.lease) machine.lease = LeaseOf("machine " + std::to_string(at), store);
      if (!machine.holds) {
        if (chance() % 2 == 0) {
          const auto seen = machine.lease->Look({});
          ASSERT_TRUE(seen.ok());
          machine.watched = *seen;
        } else if (machine.lease->Take(machine.watched, {}).ok()) {
          machine.holds = true;
          holder = static_cast<int>(at);
        }
        continue;
      }
      const auto what = chance() % 4;
      const Status done = what == 0   ? machine.lease->GiveBack({})
                          : what == 1 ? machine.lease->Confirm({})
                                      : machine.lease->Renew({});
      ASSERT_EQ(done.ok(), holder == static_cast<int>(at)) << round << ", " << step << ": " << done.message();
      if (!done.ok() || what == 0) machine = {};
      if (done.ok() && what == 0) holder = -1;
    }
  }
}

class LocalKeeperTest : public testing::Test {
 protected:
  Result<std::unique_ptr<LeaseKeeper>> Take(const std::string& who, std::vector<std::string> names) {
    std::vector<HeldLocation> places;
    for (const std::string& name : names) {
      stores_.push_back(std::make_unique<LocalStore>(dir_ / name));
      places.emplace_back(dir_ / name, stores_.back().get());
    }
    const LeaseWait never = [](std::chrono::milliseconds, std::stop_token) {
      return Status(Code::kCancelled, "nobody waits here");
    };
    return LeaseKeeper::Take(std::move(places), TermsOf(who, "this host"), never, clock_,
                             [](std::string_view) {}, {});
  }
  std::optional<SeenLease> Seen(const std::string& name) {
    LocalStore store(dir_ / name);
    return NumberedLease(store, name, {}, false).Look({}).value();
  }

  TempDir dir_;
  FakeClock clock_;
  std::vector<std::unique_ptr<LocalStore>> stores_;
};

TEST_F(LocalKeeperTest, AllPlacesOrNone) {
  const auto first = Take("first", {"b"});
  ASSERT_TRUE(first.ok()) << first.status().message();
  const auto second = Take("second", {"c", "b", "a"});
  EXPECT_EQ(second.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(second.status().message().find("/b: first, process 1 is writing there"), std::string::npos)
      << second.status().message();
  EXPECT_TRUE(Take("third", {"a", "c"}).ok()) << "what was taken is given back";
}

TEST_F(LocalKeeperTest, OneDirectoryUnderTwoNamesIsNotHeldTwice) {
  std::filesystem::create_directory(dir_ / "a");
  std::filesystem::create_directory_symlink("a", dir_ / "also a");
  const auto both = Take("ours", {"a", "also a"});
  EXPECT_EQ(both.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(both.status().message().find("two stages publish to this directory"), std::string::npos);
}

TEST_F(LocalKeeperTest, AConfirmationIsAskedForWhereTheLastSignIsOld) {
  const auto keeper = Take("ours", {"a"});
  ASSERT_TRUE(keeper.ok());
  const std::string version = Seen("a")->version;
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_TRUE((*keeper)->Check(dir_ / "a", {}).ok());
  EXPECT_EQ(Seen("a")->version, version) << "two periods are not too long";
  clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_TRUE((*keeper)->Check(dir_ / "a", {}).ok());
  EXPECT_NE(Seen("a")->version, version);
  // Held up for longer, and taken over from another machine.
  LocalStore store(dir_ / "a");
  NumberedLease theirs(store, "a", TermsOf("theirs", "another host"), true);
  ASSERT_TRUE(theirs.Take(Seen("a"), {}).ok());
  clock_.Advance(std::chrono::seconds(5));
  EXPECT_NE((*keeper)->Check(dir_ / "a", {}).Detail<LostLease>(), nullptr);
  EXPECT_NE((*keeper)->Confirm(dir_ / "a", {}).Detail<LostLease>(), nullptr) << "for good";
}

}  // namespace
}  // namespace pipeline
