#include "dag/package/unit_queue.h"

#include <gtest/gtest.h>

#include "dag/package/work_history.h"
#include "storage/forwarding_store.h"
#include "storage/memory_store.h"
#include "tests/support/counting_store.h"
#include "tests/support/fake_clock.h"

namespace pipeline {
namespace {

using Kind = UnitQueue::Kind;
using Lines = std::vector<std::string>;
using std::chrono::milliseconds, std::chrono::seconds;

/// A work package in memory, and the worker's clock.
struct Package {
  explicit Package(int units) { Plan(units); }

  void Plan(int units, std::map<std::string, milliseconds, std::less<>> pace = {}) {
    WorkPackage plan;
    for (int unit = 0; unit < units; ++unit)
      plan.units.push_back({"text/0000-0000" + std::to_string(unit), DigestOf("recipe")});
    plan.pace = std::move(pace);
    plan.log = "log/" + std::to_string(++plans);
    plan.run = "1-2";
    plan.nonce = std::to_string(plans);
    ASSERT_TRUE(WriteObject(store, kWorkPackageName, EncodeWorkPackage(plan), Condition::ReplaceAny()).ok());
  }

  /// Plans units that need so many bytes of memory, by their names.
  void PlanLarge(const std::vector<std::pair<std::string, std::uint64_t>>& units) {
    WorkPackage plan;
    for (const auto& [unit, memory] : units)
      plan.units.push_back({unit, DigestOf("recipe"), false, {memory}});
    plan.log = "log/" + std::to_string(++plans);
    Write(std::string(kWorkPackageName), EncodeWorkPackage(plan));
  }

  void Write(const std::string& object, const std::string& text = "{}") {
    ASSERT_TRUE(WriteObject(store, object, text, Condition::ReplaceAny()).ok());
  }
  /// Stores the record that a worker stores when its unit is done.
  void Done(const std::string& unit) { Write("done/" + unit + ".json"); }

  std::vector<std::string> Objects(const std::string& prefix) {
    std::vector<std::string> names;
    const Result<std::vector<ObjectInfo>> objects = store.List(prefix);
    for (const ObjectInfo& object : *objects) names.push_back(object.name);
    return names;
  }

  QueueTerms Terms(std::string who) {
    QueueTerms terms;
    terms.lease = {who, who};
    terms.least_wait = milliseconds(1);
    terms.most_wait = milliseconds(4);
    return terms;
  }

  /// Of a worker with so many bytes of memory.
  QueueTerms Terms(std::string who, std::uint64_t memory) {
    QueueTerms terms = Terms(std::move(who));
    terms.why_unfit = [memory](const OfferedUnit& unit) {
      return WhyUnfit(unit.needs, WorkerRoom{.memory = memory, .memory_by = "--memory"});
    };
    return terms;
  }

  MemoryStore store;
  FakeClock clock;
  int plans = 0;
};

UnitQueue::Turn Next(UnitQueue& queue) {
  Result<UnitQueue::Turn> turn = queue.Next({});
  EXPECT_TRUE(turn.ok()) << turn.status().message();
  return turn.ok() ? *turn : UnitQueue::Turn{};
}

TEST(UnitQueueTest, EachWorkerTakesAnotherUnitAndOneOfThemPlansAtTheEnd) {
  Package package(3);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  std::set<std::string> taken;
  for (UnitQueue* queue : {&a, &b, &a}) {
    const UnitQueue::Turn turn = Next(*queue);
    ASSERT_EQ(turn.kind, Kind::kUnit);
    EXPECT_TRUE(taken.insert(turn.unit).second) << turn.unit << " was taken twice";
    package.Done(turn.unit);
    ASSERT_TRUE(queue->Finished().ok());
  }
  EXPECT_EQ(Next(b).kind, Kind::kPlan);
  EXPECT_EQ(Next(a).kind, Kind::kWait) << "another worker plans";
  ASSERT_TRUE(b.Release().ok());
  EXPECT_EQ(Next(a).kind, Kind::kPlan) << "the results are still there";
}

TEST(UnitQueueTest, WhatAnotherWorkerRunsIsWaitedFor) {
  Package package(1);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  EXPECT_EQ(Next(a).kind, Kind::kUnit);
  const UnitQueue::Turn first = Next(b), second = Next(b);
  EXPECT_EQ(first.kind, Kind::kWait);
  EXPECT_LT(first.wait, second.wait);
  ASSERT_TRUE(a.Release().ok());
  EXPECT_EQ(Next(b).kind, Kind::kUnit) << "a stopped worker gives its unit back";
}

TEST(UnitQueueTest, APostponedUnitIsLeftToOthersWhileThereAreOtherUnits) {
  Package package(2);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  const std::string postponed = Next(a).unit;
  ASSERT_TRUE(a.Postpone().ok());
  EXPECT_NE(Next(a).unit, postponed);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  EXPECT_EQ(Next(b).unit, postponed);
}

TEST(UnitQueueTest, AnOldViewMeetsTheLeaseOfAFinishedUnit) {
  Package package(2);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  const std::string mine = Next(a).unit;
  const std::string other = Next(b).unit;  // the view of b has a lease
  package.Done(mine);
  ASSERT_TRUE(a.Finished().ok());
  EXPECT_EQ(Next(a).kind, Kind::kPlan);
  package.Done(other);
  ASSERT_TRUE(b.Finished().ok());
  EXPECT_EQ(package.Objects("lease/").size(), 3u) << "of two finished units and of planning";
  package.clock.Advance(seconds(400));
  EXPECT_EQ(Next(b).kind, Kind::kWait);
  EXPECT_EQ(package.Objects("lease/").size(), 3u) << "an old lease waits for others";
  package.clock.Advance(seconds(300));
  EXPECT_EQ(Next(b).kind, Kind::kPlan) << "the other one is silent";
  EXPECT_EQ(package.Objects("lease/").size(), 2u) << "no view is so old";
}

TEST(UnitQueueTest, OldLeasesGoInGroups) {
  MemoryStore memory;
  CountingStore store(memory);
  FakeClock clock;
  WorkPackage plan;
  for (int unit = 0; unit < 40; ++unit)
    plan.units.push_back({"text/0000-" + std::to_string(10'000 + unit), DigestOf("recipe")});
  ASSERT_TRUE(WriteObject(memory, kWorkPackageName, EncodeWorkPackage(plan), Condition::CreateOnly()).ok());
  UnitQueue a(store, {.lease = {"a", "a"}}, clock);
  for (int unit = 0; unit < 17; ++unit) {
    ASSERT_EQ(Next(a).kind, Kind::kUnit);
    ASSERT_TRUE(a.Finished().ok());
    clock.Advance(seconds(10));
  }
  clock.Advance(seconds(200));  // the first is 370 s old, and the second 360
  EXPECT_EQ(Next(a).kind, Kind::kUnit);
  EXPECT_EQ(store.removals, 0u);
  ASSERT_TRUE(a.Finished().ok());
  clock.Advance(seconds(150));
  EXPECT_EQ(Next(a).kind, Kind::kUnit);
  EXPECT_EQ(store.removals, 1u);
  EXPECT_EQ(store.removed_objects, 17u);
  ASSERT_TRUE(a.Finished().ok());
  clock.Advance(seconds(400));
  ASSERT_TRUE(a.Leave().ok());
  EXPECT_EQ(store.removals, 2u) << "a worker that leaves waits for no group";
  EXPECT_EQ(store.removed_objects, 19u);
}

TEST(UnitQueueTest, AnOldViewMeetsTheLeaseOfAFinishedUnitOfAWorkerThatHasLeft) {
  Package package(2);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  const std::string other = Next(b).unit;  // both units are free in the view of b
  const std::string mine = Next(a).unit;
  package.Done(mine);
  ASSERT_TRUE(a.Finished().ok());
  ASSERT_TRUE(a.Leave().ok());
  package.Done(other);
  ASSERT_TRUE(b.Finished().ok());
  EXPECT_EQ(Next(b).kind, Kind::kPlan) << "a unit that is done was taken again";
  ASSERT_TRUE(b.Release().ok());
  package.Write("end.json", EncodeVersioned(RunEnd{}));
  EXPECT_EQ(Next(b).kind, Kind::kEnded);
  ASSERT_TRUE(b.Leave().ok());
  EXPECT_EQ(package.Objects("lease/").size(), 1u) << "whoever ends the run removes the leases of others";
}

TEST(UnitQueueTest, TheUnitOfASilentWorkerIsTakenOver) {
  Package package(1);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  ASSERT_EQ(Next(a).kind, Kind::kUnit);
  EXPECT_EQ(Next(b).kind, Kind::kWait);
  package.clock.Advance(seconds(59));
  EXPECT_EQ(Next(b).kind, Kind::kWait);
  package.clock.Advance(seconds(2));
  EXPECT_EQ(Next(b).kind, Kind::kUnit);
  const Result<std::string> lease = ReadObject(package.store, "lease/text/0000-00000.json", 1000);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ((*Json::Parse(*lease))["attempt"].AsInt(), 2);
  EXPECT_EQ((*Json::Parse(*lease))["who"].AsString(), "b");

  Lines unreadable;
  const auto history = ReadHistory(package.store, *package.store.List("history/1-2/"), unreadable, {});
  ASSERT_TRUE(history.ok());
  ASSERT_EQ(history->lost.size(), 1u);
  EXPECT_EQ(history->lost.front().unit, "text/0000-00000");
  EXPECT_EQ(history->lost.front().who, "a");
  EXPECT_EQ(history->lost.front().by, "b");
  EXPECT_EQ(Summarise(*history).hosts.front().lost, 1u);
}

TEST(UnitQueueTest, AUnitThatEndsEachWorkerIsGivenUp) {
  Package package(1);
  std::vector<std::unique_ptr<UnitQueue>> workers;
  for (int death = 0; death < 10; ++death) {
    workers.push_back(std::make_unique<UnitQueue>(package.store, package.Terms("w" + std::to_string(death)),
                                                  package.clock));
    UnitQueue& queue = *workers.back();
    if (death > 0) Next(queue);
    package.clock.Advance(seconds(61));
    const UnitQueue::Turn turn = Next(queue);
    if (turn.kind == Kind::kUnit) continue;
    EXPECT_EQ(death, 6);
    EXPECT_TRUE(package.Objects("failed/").size() == 1);
    Next(queue);
    EXPECT_TRUE(queue.view().GaveUp("text/0000-00000"));
    return;
  }
  FAIL() << "it is tried for ever";
}

TEST(UnitQueueTest, PlanningThatEndsEachWorkerIsNotTriedForEver) {
  Package package(0);
  std::vector<std::unique_ptr<UnitQueue>> workers;
  for (int death = 0; death < 7; ++death) {
    workers.push_back(std::make_unique<UnitQueue>(package.store, package.Terms("w" + std::to_string(death)),
                                                  package.clock));
    UnitQueue& queue = *workers.back();
    if (death > 0) Next(queue);
    package.clock.Advance(seconds(61));
    const Result<UnitQueue::Turn> turn = queue.Next({});
    if (death < 6) {
      ASSERT_TRUE(turn.ok());
      ASSERT_EQ(turn->kind, Kind::kPlan);
      continue;
    }
    EXPECT_EQ(turn.status().code(), Code::kInvalidArgument);
    EXPECT_TRUE(turn.status().message().starts_with("planning: 6 workers ended")) << turn.status().message();
    EXPECT_NE(turn.status().message().find("until `pipe plan` or `pipe submit`"), std::string::npos);
  }
}

TEST(UnitQueueTest, AllWorkersSeeAtTheSameTimeThatNobodyPlansAnyMore) {
  Package package(0);
  Json lease;
  lease["who"] = "dead";
  lease["attempt"] = kMostWorkers;
  ASSERT_TRUE(
      WriteObject(package.store, ObjectOfLease(kPlanningLease), lease.Dump(), Condition::CreateOnly()).ok());
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  EXPECT_EQ(Next(a).kind, Kind::kWait);
  EXPECT_EQ(Next(b).kind, Kind::kWait);
  package.clock.Advance(seconds(61));
  EXPECT_EQ(a.Next({}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(b.Next({}).status().code(), Code::kInvalidArgument);
}

TEST(UnitQueueTest, AFailedUnitIsTriedElsewhereAndGivenUpAfterThreeAttempts) {
  Package package(1);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  UnitQueue c(package.store, package.Terms("c"), package.clock);
  ASSERT_EQ(Next(a).kind, Kind::kUnit);
  EXPECT_EQ(*a.Failed(65, "bad line", {}), false);
  EXPECT_EQ(Next(a).kind, Kind::kWait) << "it failed here";
  ASSERT_EQ(Next(b).kind, Kind::kUnit);
  EXPECT_EQ(*b.Failed(65, "bad line", {}), false);
  ASSERT_EQ(Next(c).kind, Kind::kUnit);
  EXPECT_EQ(*c.Failed(65, "bad line", {}), true);
  EXPECT_EQ(Next(a).kind, Kind::kPlan) << "the planner finds that nothing else is left";
  EXPECT_EQ(a.view().failed.at("text/0000-00000").attempts.size(), 3u);
}

TEST(UnitQueueTest, AUnitWithADamagedInputWaitsForTheNextPlan) {
  Package package(1);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  ASSERT_EQ(Next(a).kind, Kind::kUnit);
  ASSERT_TRUE(a.NeedsPlan().ok());
  EXPECT_EQ(Next(a).kind, Kind::kPlan);
  package.Plan(1);
  ASSERT_TRUE(a.Release().ok());
  EXPECT_EQ(Next(a).kind, Kind::kUnit);
}

TEST(UnitQueueTest, AWorkerThatIsAloneTriesAFailedUnitAgain) {
  Package package(1);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  for (int attempt = 0; attempt < 3; ++attempt) {
    UnitQueue::Turn turn = Next(a);
    for (int wait = 0; wait < 10 && turn.kind == Kind::kWait; ++wait) turn = Next(a);
    ASSERT_EQ(turn.kind, Kind::kUnit);
    EXPECT_EQ(*a.Failed(65, "bad line", {}), attempt == 2);
  }
}

TEST(UnitQueueTest, AStragglerIsGivenAwayUnderASecondLease) {
  Package package(1);
  package.Plan(1, {{"text", seconds(30)}});
  QueueTerms terms = package.Terms("a");
  UnitQueue a(package.store, terms, package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  ASSERT_EQ(Next(a).kind, Kind::kUnit);
  EXPECT_EQ(Next(b).kind, Kind::kWait);
  // It lives: its lease is renewed, but the unit takes long.
  for (int renewal = 0; renewal < 5; ++renewal) {
    package.clock.Advance(seconds(20));
    EXPECT_EQ(Next(b).kind, renewal < 4 ? Kind::kWait : Kind::kUnit) << renewal;
    package.Write("lease/text/0000-00000.json", "{\"renewal\":" + std::to_string(renewal) + "}");
    if (renewal < 4) continue;
    EXPECT_EQ(package.Objects("lease/"),
              (std::vector<std::string>{"lease/text/0000-00000.2.json", "lease/text/0000-00000.json"}));
  }
}

TEST(UnitQueueTest, OneOfTheIdleWorkersPlansWhenAScanHasToldCuts) {
  Package package(0);
  WorkPackage plan;
  plan.units = {{"text/0000-*", DigestOf("recipe")}};
  plan.pace = {{"text", seconds(1)}};
  package.Write(std::string(kWorkPackageName), EncodeWorkPackage(plan));
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  UnitQueue b(package.store, package.Terms("b"), package.clock);
  UnitQueue c(package.store, package.Terms("c"), package.clock);
  ASSERT_EQ(Next(a).unit, "text/0000-*");
  EXPECT_EQ(Next(b).kind, Kind::kWait);
  package.Done("text/0000-*.00000004");
  EXPECT_EQ(Next(b).kind, Kind::kPlan);
  EXPECT_EQ(Next(c).kind, Kind::kWait);
  EXPECT_FALSE(b.view().done.contains("text/0000-*")) << "its scan goes on";

  // The time of other units says nothing about a scan, before and after the plan knows of it.
  const auto passes = [&](seconds time) {
    package.clock.Advance(time);
    package.Write("lease/text/0000-*.json", std::to_string(package.clock.Monotonic().count()));
    package.Write("lease/-.json", std::to_string(package.clock.Monotonic().count()));
  };
  for (int time = 0; time < 8; ++time) {
    passes(seconds(20));
    EXPECT_EQ(Next(c).kind, Kind::kWait) << time;
  }
  plan.units = {{"text/0000-00000", DigestOf("recipe")}, {"text/0000-*", DigestOf("recipe"), true}};
  package.Write(std::string(kWorkPackageName), EncodeWorkPackage(plan));
  ASSERT_TRUE(package.store.Remove("done/text/0000-*.00000004.json").ok());
  EXPECT_EQ(Next(c).unit, "text/0000-00000");
  ASSERT_TRUE(c.NeedsPlan().ok());
  for (int time = 0; time < 8; ++time) {
    passes(seconds(20));
    EXPECT_EQ(Next(c).kind, Kind::kWait) << time;
  }
}

TEST(UnitQueueTest, AWorkerTakesOnlyUnitsThatFitAndNamesAnother) {
  Package package(0);
  package.PlanLarge({{"text/0000-00000", 10}, {"text/0000-00001", 2048}, {"text/0000-00002", 1024}});
  UnitQueue small(package.store, package.Terms("small", 1024), package.clock);
  for (const std::string unit : {"text/0000-00000", "text/0000-00002"}) {
    ASSERT_EQ(Next(small).unit, unit);
    package.Done(unit);
    ASSERT_TRUE(small.Finished().ok());
  }
  ASSERT_EQ(Next(small).kind, Kind::kPlan);
  package.PlanLarge({{"text/0000-00001", 2048}});
  for (const std::string& done : package.Objects("done/")) ASSERT_TRUE(package.store.Remove(done).ok());
  ASSERT_TRUE(small.Release().ok());
  const UnitQueue::Turn turn = Next(small);
  EXPECT_EQ(turn.kind, Kind::kWait);
  EXPECT_EQ(turn.unit, "text/0000-00001");
  EXPECT_EQ(turn.why, "needs 2.00 KiB of memory, and this worker has 1.00 KiB (--memory)");
  UnitQueue large(package.store, package.Terms("large", 2048), package.clock);
  EXPECT_EQ(Next(large).unit, "text/0000-00001");
  EXPECT_EQ(Next(small).unit, "") << "another worker runs it";
}

TEST(UnitQueueTest, AWorkerThatFitsNoUnitWaitsWhileOthersLive) {
  Package package(0);
  package.PlanLarge({{"text/0000-00000", 2048}, {"text/0000-00001", 2048}});
  UnitQueue small(package.store, package.Terms("small", 1024), package.clock);
  UnitQueue large(package.store, package.Terms("large", 2048), package.clock);
  ASSERT_EQ(Next(large).kind, Kind::kUnit);
  for (int renewal = 0; renewal < 40; ++renewal) {
    package.Write("lease/text/0000-00000.json", "{\"renewal\":" + std::to_string(renewal) + "}");
    EXPECT_EQ(Next(small).kind, Kind::kWait) << "its lease is renewed";
    package.clock.Advance(seconds(15));
  }
  package.clock.Advance(seconds(240));
  EXPECT_EQ(Next(small).kind, Kind::kWait) << "perhaps another one starts";
  package.clock.Advance(seconds(60));
  const UnitQueue::Turn turn = Next(small);
  EXPECT_EQ(turn.kind, Kind::kUnfit) << "the unit of a dead worker is not taken over";
  EXPECT_EQ(turn.unit, "text/0000-00000");
  UnitQueue later(package.store, package.Terms("later", 2048), package.clock);
  EXPECT_EQ(Next(later).unit, "text/0000-00001");
}

TEST(UnitQueueTest, AJobIsTakenFirst) {
  Package package(0);
  package.PlanLarge({{"text/0000-00000", 1}, {"text/0000-00001", 1}, {"train/-", 2048}});
  UnitQueue small(package.store, package.Terms("small", 1024), package.clock);
  UnitQueue large(package.store, package.Terms("large", 2048), package.clock);
  EXPECT_EQ(Next(small).unit, "text/0000-00000");
  EXPECT_EQ(Next(large).unit, "train/-");
}

TEST(UnitQueueTest, TheEndOfTheRunEndsEachWorker) {
  Package package(1);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  package.Write(std::string(kRunEndName), EncodeVersioned(RunEnd{{{"text/-", "too few"}}}));
  EXPECT_EQ(Next(a).kind, Kind::kEnded);
  ASSERT_TRUE(a.view().end.has_value());
  EXPECT_EQ(a.view().end->failures, (std::vector<RunEnd::Failure>{{"text/-", "too few"}}));
}

TEST(UnitQueueTest, AWorkerThatWasSuspendedLooksBeforeItTakesTheNextUnit) {
  Package package(3);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  ASSERT_EQ(Next(a).kind, Kind::kUnit);
  // Others take its unit over, end the run and remove the leases, all within the age of its view.
  package.clock.Advance(seconds(100));
  package.Write(std::string(kRunEndName), EncodeVersioned(RunEnd{{}, "1"}));
  ASSERT_TRUE(a.Finished().ok());
  EXPECT_EQ(Next(a).kind, Kind::kEnded);
}

/// Does something before the first lease of a unit reaches the store, as when its request had to wait.
class LateStore final : public ForwardingStore {
 public:
  LateStore(Store& store, std::function<void()> before)
      : ForwardingStore(store), before_(std::move(before)) {}
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    if (name.starts_with("lease/text/")) std::exchange(before_, [] {})();
    return ForwardingStore::Create(name, std::move(condition));
  }

 private:
  std::function<void()> before_;
};

TEST(UnitQueueTest, AUnitThatWasDoneBeforeItsLeaseWasTakenOverIsNotBegunAgain) {
  for (const bool planned : {false, true}) {
    Package package(2);
    UnitQueue a(package.store, package.Terms("a"), package.clock);
    const std::string unit = Next(a).unit;
    package.Done(unit == "text/0000-00000" ? "text/0000-00001" : "text/0000-00000");
    // a was frozen, and ends its unit while the request of b is on its way.
    LateStore store(package.store, [&] {
      package.Done(unit);
      if (!planned) return;
      package.Plan(0);
      ASSERT_TRUE(package.store.Remove("done/" + unit + ".json").ok());
    });
    UnitQueue b(store, package.Terms("b"), package.clock);
    EXPECT_EQ(b.Next({})->kind, Kind::kPlan);
    ASSERT_TRUE(b.Release().ok());
    package.clock.Advance(seconds(100));
    EXPECT_NE(Next(b).kind, Kind::kUnit) << planned;
    EXPECT_EQ(package.Objects("lease/" + unit).size(), 1U) << "an old view meets it";
  }
}

TEST(UnitQueueTest, AUnitThatWasDoneBeforeTheSecondLeaseOfAStragglerIsNotBegunAgain) {
  Package package(1);
  package.Plan(1, {{"text", seconds(30)}});
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  const std::string unit = Next(a).unit;
  LateStore store(package.store, [&] { package.Done(unit); });
  UnitQueue b(store, package.Terms("b"), package.clock);
  EXPECT_EQ(Next(b).kind, Kind::kWait);
  for (int renewal = 0; renewal < 5; ++renewal) {
    package.clock.Advance(seconds(20));
    EXPECT_NE(Next(b).kind, Kind::kUnit) << renewal;
    package.Write("lease/text/0000-00000.json", "{\"renewal\":" + std::to_string(renewal) + "}");
  }
  EXPECT_EQ(package.Objects("lease/text/").size(), 2U) << "the second lease was taken";
}

TEST(UnitQueueTest, TheEndOfAnotherPlanAndADamagedOneCountForNothing) {
  Package package(1);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  package.Write(std::string(kRunEndName), EncodeVersioned(RunEnd{{}, "a plan that was replaced"}));
  ASSERT_EQ(Next(a).kind, Kind::kUnit) << "a worker that was frozen for long wrote it";
  ASSERT_TRUE(a.Release().ok());
  package.Write(std::string(kRunEndName), EncodeVersioned(RunEnd{{}, "plan"}).substr(0, 20));
  ASSERT_EQ(Next(a).kind, Kind::kUnit) << "cut off";
  ASSERT_TRUE(a.Release().ok());
  package.Write(std::string(kRunEndName), "{\"failures\":[],\"pipe_end\":2}");
  EXPECT_EQ(a.Next({}).status().message(), "end.json: it has version 2, and this program reads 1");
  EXPECT_EQ(a.Next({}).status().code(), Code::kInvalidArgument) << "a new try has the same program";
  package.Write(std::string(kRunEndName), EncodeVersioned(RunEnd{{}, "1"}));
  EXPECT_EQ(Next(a).kind, Kind::kEnded);
}

TEST(UnitQueueTest, ADamagedPlanIsReplacedBeforeItsUnitsRun) {
  Package package(2);
  UnitQueue a(package.store, package.Terms("a"), package.clock);
  ASSERT_EQ(Next(a).kind, Kind::kUnit);
  ASSERT_TRUE(a.NeedsOtherPlan().ok());
  ASSERT_EQ(Next(a).kind, Kind::kPlan);
  package.Plan(2);
  ASSERT_TRUE(a.Release().ok());
  EXPECT_EQ(Next(a).kind, Kind::kUnit);
}

TEST(UnitQueueTest, ForeignAndDamagedObjectsHoldNobodyUp) {
  const std::string large(65 << 20, '{');
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"),
                                  std::string("{\"attempts\":[],\"pipe_failed\":7}"), large}) {
    Package package(2);
    package.Write("failed/text/0000-00000.json", text);
    package.Write("lease/text/0000-00001.json", text);
    package.Write("lease/nothing", text);
    UnitQueue a(package.store, package.Terms("a"), package.clock);
    ASSERT_EQ(Next(a).unit, "text/0000-00000");
    EXPECT_EQ(*a.Failed(65, "bad line", {}), false) << "damaged attempts are forgotten";
    EXPECT_EQ(Next(a).kind, Kind::kWait);
    package.clock.Advance(seconds(61));
    EXPECT_EQ(Next(a).unit, "text/0000-00001") << "the lease of a silent worker";
  }
}

TEST(UnitQueueTest, TenThousandUnitsCostTwoRequestsEachAndFewOthers) {
  constexpr std::size_t kUnits = 10'000, kWorkers = 8;
  MemoryStore memory;
  CountingStore store(memory);
  FakeClock clock;
  WorkPackage plan;
  for (std::size_t unit = 0; unit < kUnits; ++unit)
    plan.units.push_back({"text/0000-" + std::to_string(100'000 + unit), DigestOf("recipe")});
  plan.log = "log";
  ASSERT_TRUE(WriteObject(memory, kWorkPackageName, EncodeWorkPackage(plan), Condition::CreateOnly()).ok());
  std::vector<std::unique_ptr<UnitQueue>> workers;
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    QueueTerms terms;
    terms.lease = {std::to_string(worker), std::to_string(worker)};
    terms.seed = DigestOf(terms.lease.nonce).low;
    workers.push_back(std::make_unique<UnitQueue>(store, terms, clock));
  }
  std::set<std::string> done;
  std::vector<std::string> running(kWorkers);
  for (std::size_t turn = 0; done.size() < kUnits; ++turn) {
    ASSERT_LT(turn, 2 * kUnits);
    UnitQueue& worker = *workers[turn % kWorkers];
    if (std::string& unit = running[turn % kWorkers]; !unit.empty()) {
      EXPECT_TRUE(done.insert(unit).second) << unit << " was done twice";
      ASSERT_TRUE(WriteObject(store, "done/" + unit + ".json", "{}", Condition::CreateOnly()).ok());
      ASSERT_TRUE(worker.Finished().ok());
      unit.clear();
    }
    clock.Advance(milliseconds(2'000) / kWorkers);  // a unit takes two seconds
    const Result<UnitQueue::Turn> next = worker.Next({});
    ASSERT_TRUE(next.ok());
    if (next->kind == Kind::kUnit) running[turn % kWorkers] = next->unit;
    if (next->kind == Kind::kPlan) {
      ASSERT_TRUE(worker.Release().ok());
    }
  }
  for (const auto& worker : workers) ASSERT_TRUE(worker->Leave().ok());
  const double units = kUnits;
  const double lost = static_cast<double>(store.creations) - 2 * units;
  EXPECT_LT((lost + static_cast<double>(store.pages + store.removals + store.reads)) / units, 0.2)
      << lost << " lost races, " << store.pages << " pages of listings, " << store.removals << " removals, "
      << store.reads << " reads";
  EXPECT_GT(store.removed_objects, kUnits / 2) << "leases do not stay until the end";
}

}  // namespace
}  // namespace pipeline
